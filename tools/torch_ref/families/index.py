"""Picking and placing elements by index."""

import torch
import torch.nn.functional as F

F16, F64 = torch.float16, torch.float64
I64, I32 = torch.int64, torch.int32


def rows(table):
    embeddings(table)
    picking(table)
    placing(table)
    sorting(table)
    searching(table)


def embeddings(table):
    op = table.op("embedding", F.embedding)
    d = op.draw
    weight = d.f(5, 3)
    op("vector", torch.tensor([4, 0, 4]), weight)
    op("matrix", d.i(2, 2, low=0, high=5), weight)
    op("i32", d.i(3, low=0, high=5, dtype=I32), weight)
    op("scalar tensor", torch.tensor(2), weight)
    op("padding", torch.tensor([1, 0]), weight, padding_idx=0)
    op("negative padding", torch.tensor([1, 4]), weight, padding_idx=-1)
    op("half", torch.tensor([1, 0]), weight.half())
    op("empty", torch.zeros(0, dtype=I64), weight)
    op.error("out of range", torch.tensor([5]), weight)
    op.error("negative", torch.tensor([-1]), weight)
    op.error("float index", d.f(2), weight)
    op.error("padding out of range", torch.tensor([1]), weight, padding_idx=5)

    def bag(x, weight, offsets, per_sample_weights, **kwargs):
        return F.embedding_bag(x, weight, offsets, per_sample_weights=per_sample_weights, **kwargs)

    op = table.op("embedding_bag", bag)
    d = op.draw
    weight = d.f(5, 3)
    rows_, flat, offsets = d.i(2, 3, low=0, high=5), torch.tensor([1, 0, 4, 2, 1]), torch.tensor([0, 2, 4])
    op("mean", rows_, weight, None, None)
    op("sum", rows_, weight, None, None, mode="sum")
    op("max", rows_, weight, None, None, mode="max")
    op("offsets", flat, weight, offsets, None)
    op("empty bag", flat, weight, torch.tensor([0, 2, 2]), None)
    op("empty bag max", flat, weight, torch.tensor([0, 2, 2]), None, mode="max")
    op("last offset", flat, weight, torch.tensor([0, 2, 5]), None, include_last_offset=True)
    op("weights", flat, weight, offsets, d.f(5), mode="sum")
    op("padding", flat, weight, offsets, None, padding_idx=1)
    op("padding sum", rows_, weight, None, None, mode="sum", padding_idx=int(rows_[0, 0]))
    op.error("offsets of a matrix", rows_, weight, offsets, None)
    op.error("no offsets", flat, weight, None, None)
    op.error("weights of mean", flat, weight, offsets, d.f(5))
    op.error("mode", rows_, weight, None, None, mode="min")


def picking(table):
    op = table.op("gather", lambda x, index, dim: torch.gather(x, dim, index))
    d = op.draw
    x = d.f(3, 4)
    op("columns", x, torch.tensor([[0, 3], [1, 1], [2, 0]]), dim=1)
    op("rows", x, torch.tensor([[2, 0, 1, 2]]), dim=0)
    op("smaller index", x, torch.tensor([[0], [1]]), dim=-1)
    op("ints", d.i(4, dtype=I32), torch.tensor([3, 0]), dim=0)
    op("scalar tensor", d.f(), torch.tensor(0), dim=0)
    op("empty", x, torch.zeros(0, 4, dtype=I64), dim=0)
    op.error("out of range", x, torch.tensor([[4]]), dim=1)
    op.error("rank", x, torch.tensor([0]), dim=1)
    op.error("index size", x, torch.zeros(4, 1, dtype=I64), dim=1)
    op.error("dtype", x, torch.zeros(1, 1), dim=1)

    op = table.op("index_select", lambda x, index, dim: torch.index_select(x, dim, index))
    d = op.draw
    x = d.f(3, 4)
    op("rows", x, torch.tensor([2, 0, 2]), dim=0)
    op("columns", x, torch.tensor([3, 1], dtype=I32), dim=-1)
    op("scalar index", x, torch.tensor(1), dim=0)
    op("bools", d.b(4), torch.tensor([1, 0]), dim=0)
    op("empty", x, torch.zeros(0, dtype=I64), dim=0)
    op.error("out of range", x, torch.tensor([3]), dim=0)
    op.error("matrix index", x, torch.zeros(1, 1, dtype=I64), dim=0)
    op.error("dtype", x, torch.zeros(1), dim=0)
    op.error("dim", x, torch.tensor([0]), dim=2)

    op = table.op("take_along_dim", lambda x, indices, dim: torch.take_along_dim(x, indices, dim))
    d = op.draw
    x = d.f(3, 4)
    op("columns", x, torch.tensor([[0, 3], [1, 1], [2, 0]]), dim=1)
    op("broadcast", x, torch.tensor([[1], [0]]), dim=0)
    op("broadcast rows", x, torch.tensor([[1, 0, 3]]), dim=-1)
    op.error("rank", x, torch.tensor([0]), dim=1)
    op("wraps around", x, torch.tensor([[7], [-1], [2]]), dim=1)

    op = table.op("masked_select", torch.masked_select)
    d = op.draw
    x = d.f(2, 3)
    op("matrix", x, x > 0)
    op("broadcast mask", x, torch.tensor([True, False, True]))
    op("broadcast input", d.f(3), d.b(2, 3))
    op("nothing", x, x > 100)
    op("ints", d.i(4), d.b(4))
    op.error("mask dtype", x, x)
    op.error("shapes", x, d.b(4))


def placing(table):
    def scatter(x, index, src, dim):
        return torch.scatter(x, dim, index, src)

    op = table.op("scatter", scatter)
    d = op.draw
    x, index = d.f(3, 4), torch.tensor([[0, 3], [1, 2], [2, 0]])
    op("columns", x, index, d.f(3, 2), dim=1)
    op("rows", x, torch.tensor([[2, 0, 1, 2]]), d.f(1, 4), dim=0)
    op("number", x, index, 1.5, dim=-1)
    op("larger source", x, torch.tensor([[3], [0]]), d.f(3, 4), dim=1)
    op("ints", d.i(4), torch.tensor([3, 0]), 7, dim=0)
    op("empty", x, torch.zeros(0, 4, dtype=I64), d.f(3, 4), dim=0)
    op.error("out of range", x, torch.tensor([[4]]), d.f(1, 1), dim=1)
    op.error("smaller source", x, index, d.f(2, 2), dim=1)
    op.error("dtypes", x, index, d.f(3, 2, dtype=F64), dim=1)
    op.error("rank", x, torch.tensor([0]), d.f(1), dim=1)

    op = table.op("scatter_add", lambda x, index, src, dim: torch.scatter_add(x, dim, index, src))
    d = op.draw
    x = d.f(3, 4)
    op("rows", x, torch.tensor([[0, 1, 2, 0], [0, 0, 0, 0]]), d.f(2, 4), dim=0)
    op("columns", x, torch.tensor([[0, 0, 3]]), d.f(2, 3), dim=1)
    op("vector", torch.zeros(4), torch.tensor([1, 1, 3]), d.f(3), dim=-1)
    op("ints", d.i(3), torch.tensor([1, 1]), d.i(2), dim=0)
    op.error("out of range", x, torch.tensor([[4]]), d.f(1, 1), dim=1)
    op.error("dtypes", x, torch.tensor([[0]]), d.f(1, 1, dtype=F64), dim=1)

    def reduce(x, index, src, dim, reduce, **kwargs):
        return torch.scatter_reduce(x, dim, index, src, reduce, **kwargs)

    op = table.op("scatter_reduce", reduce)
    d = op.draw
    x, index, src = d.positive(5), torch.tensor([0, 1, 0, 3, 3]), d.distinct(5)
    for kind in ("sum", "prod", "mean", "amax", "amin"):
        op(kind, x, index, src, dim=0, reduce=kind)
        op(f"{kind} without self", x, index, src, dim=0, reduce=kind, include_self=False)
    op("matrix", d.f(3, 2), torch.tensor([[0, 2], [0, 2]]), d.f(2, 2), dim=-2, reduce="sum")
    op("ints mean", d.i(3), torch.tensor([0, 0, 2]), d.i(3), dim=0, reduce="mean")
    op.error("reduction", x, index, src, dim=0, reduce="median")
    op.error("dtypes", x, index, src.double(), dim=0, reduce="sum")

    def add(x, index, source, dim, **kwargs):
        return torch.index_add(x, dim, index, source, **kwargs)

    op = table.op("index_add", add)
    d = op.draw
    x, index = d.f(3, 4), torch.tensor([2, 0, 2])
    op("rows", x, index, d.f(3, 4), dim=0)
    op("columns", x, torch.tensor([3, 1]), d.f(3, 2), dim=-1)
    op("alpha", x, index, d.f(3, 4), dim=0, alpha=-0.5)
    op("ints", d.i(4), torch.tensor([1, 1]), d.i(2), dim=0, alpha=2)
    op.error("out of range", x, torch.tensor([3]), d.f(1, 4), dim=0)
    op.error("source size", x, index, d.f(2, 4), dim=0)
    op.error("dtypes", x, index, d.f(3, 4, dtype=F64), dim=0)

    op = table.op("index_copy", lambda x, index, source, dim: torch.index_copy(x, dim, index, source))
    d = op.draw
    x = d.f(3, 4)
    op("rows", x, torch.tensor([2, 0]), d.f(2, 4), dim=0)
    op("columns", x, torch.tensor([1]), d.f(3, 1), dim=1)
    op("vector", d.i(4), torch.tensor([3]), d.i(1), dim=-1)
    op.error("out of range", x, torch.tensor([3]), d.f(1, 4), dim=0)
    op.error("source size", x, torch.tensor([1]), d.f(2, 4), dim=0)
    op.error("dtypes", x, torch.tensor([1]), d.f(1, 4, dtype=F64), dim=0)

    op = table.op("index_fill", lambda x, index, value, dim: torch.index_fill(x, dim, index, value))
    d = op.draw
    x = d.f(3, 4)
    op("rows", x, torch.tensor([2, 0]), 1.5, dim=0)
    op("columns", x, torch.tensor([-1]), -1, dim=1)
    op("tensor value", x, torch.tensor([1]), torch.tensor(0.25), dim=-1)
    op("ints", d.i(4), torch.tensor([1]), 9, dim=0)
    op.error("out of range", x, torch.tensor([3]), 0.0, dim=0)
    op.error("value", x, torch.tensor([1]), d.f(2), dim=0)


def sorting(table):
    op = table.op("topk", lambda x, k, **kw: tuple(torch.topk(x, k, **kw)))
    d = op.draw
    op("vector", d.distinct(6), k=3)
    op("first dim", d.distinct(4, 3), k=2, dim=0)
    op("smallest", d.distinct(2, 5), k=2, largest=False)
    op("all", d.distinct(4), k=4)
    op("ints", d.distinct(6, dtype=I64), k=2)
    op("half", d.distinct(6, dtype=F16), k=2)
    op("nan", torch.tensor([1.0, float("nan"), 3.0, 2.0]), k=2)
    op("none", d.distinct(3), k=0)
    op.error("too many", d.distinct(3), k=4)
    op.error("dim", d.distinct(3), k=1, dim=1)

    op = table.op("sort", lambda x, stable=False, **kw: tuple(torch.sort(x, stable=stable, **kw)))
    many_orders(op)
    op("stable", torch.tensor([2.0, 1.0, 2.0, 1.0, 3.0]), stable=True)
    op("stable descending", torch.tensor([2, 1, 2, 1, 3]), descending=True, stable=True)
    op = table.op("argsort", lambda x, **kw: torch.argsort(x, **kw))
    many_orders(op)
    op("stable", torch.tensor([2.0, 1.0, 2.0, 1.0, 3.0]), stable=True)


def many_orders(op):
    d = op.draw
    op("vector", d.distinct(6))
    op("rows", d.distinct(3, 4))
    op("first dim", d.distinct(4, 2), dim=0)
    op("descending", d.distinct(2, 4), descending=True)
    op("ints", d.distinct(6, dtype=I32))
    op("half", d.distinct(6, dtype=F16))
    op("nan", torch.tensor([3.0, float("nan"), 1.0, float("-inf")]))
    op("nan descending", torch.tensor([3.0, float("nan"), 1.0, float("inf")]), descending=True)
    op("scalar tensor", d.f())
    op("empty", d.f(0, 3))
    op.error("dim", d.f(3), dim=1)


def searching(table):
    op = table.op("one_hot", lambda x, num_classes: F.one_hot(x, num_classes))
    d = op.draw
    op("vector", torch.tensor([2, 0, 1]), num_classes=3)
    op("matrix", d.i(2, 2, low=0, high=4), num_classes=4)
    op("counted", torch.tensor([2, 0]), num_classes=-1)
    op("scalar tensor", torch.tensor(1), num_classes=2)
    op("empty", torch.zeros(0, dtype=I64), num_classes=2)
    op.error("too large", torch.tensor([3]), num_classes=3)
    op.error("negative", torch.tensor([-1]), num_classes=3)
    op.error("floats", d.f(2), num_classes=3)

    op = table.op("nonzero", torch.nonzero)
    d = op.draw
    op("matrix", d.i(3, 3, low=0, high=2))
    op("floats", torch.tensor([0.0, -0.0, 0.5, float("nan")]))
    op("bools", d.b(2, 3))
    op("nothing", torch.zeros(2, 2))
    op("scalar tensor", torch.tensor(3.0))

    op = table.op("searchsorted", torch.searchsorted)
    d = op.draw
    line = torch.tensor([1.0, 2.0, 2.0, 4.0])
    op("left", line, torch.tensor([0.5, 2.0, 3.0, 9.0]))
    op("right", line, torch.tensor([[0.5, 2.0], [4.0, 9.0]]), right=True)
    op("number", line, 2.5)
    op("rows", torch.tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]), torch.tensor([[3.0, 0.0], [3.0, 7.0]]))
    op("ints", torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    op.error("rows and a vector", torch.tensor([[1.0, 3.0], [2.0, 4.0]]), torch.tensor([3.0]))
