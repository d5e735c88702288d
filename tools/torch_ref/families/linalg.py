"""Products of matrices."""

import torch
import torch.nn.functional as F

F16, BF16, F32, F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
I64, I32 = torch.int64, torch.int32
INF, NAN = float("inf"), float("nan")


def rows(table):
    products(table)
    sums(table)
    layers(table)
    einsum(table)
    canonical_mask(table)
    attention(table)


def products(table):
    op = table.op("matmul", torch.matmul)
    d = op.draw
    op("matrices", d.f(2, 3), d.f(3, 4))
    op("vectors", d.f(3), d.f(3))
    op("matrix and vector", d.f(2, 3), d.f(3))
    op("vector and matrix", d.f(3), d.f(3, 2))
    op("batch", d.f(2, 2, 3), d.f(2, 3, 2))
    op("broadcast batch", d.f(2, 1, 2, 3), d.f(3, 3, 1))
    op("batch and vector", d.f(2, 2, 3), d.f(3))
    op("vector and batch", d.f(3), d.f(2, 3, 2))
    op("double", d.f(2, 3, dtype=F64), d.f(3, 2, dtype=F64))
    op("half", d.f(2, 3, dtype=F16), d.f(3, 2, dtype=F16))
    op("bfloat16", d.f(2, 3, dtype=BF16), d.f(3, 2, dtype=BF16))
    op("ints", d.i(2, 3), d.i(3, 2))
    op("empty", d.f(0, 3), d.f(3, 2))
    op("nothing to add", d.f(2, 0), d.f(0, 3))
    op.error("shapes", d.f(2, 3), d.f(2, 3))
    op.error("dtypes", d.f(2, 3), d.f(3, 2, dtype=F64))
    op.error("scalar tensor", d.f(), d.f(3))
    op.error("batches", d.f(2, 2, 3), d.f(3, 3, 2))

    strict(table, "mm", torch.mm, (3, 4), (4, 2), [((3, 4), (3, 4)), ((4,), (4, 2))])
    strict(table, "bmm", torch.bmm, (2, 3, 4), (2, 4, 2), [((2, 3, 4), (3, 4, 2)), ((3, 4), (4, 2))])
    strict(table, "mv", torch.mv, (3, 4), (4,), [((3, 4), (3,)), ((3, 4), (4, 1))])
    strict(table, "dot", torch.dot, (5,), (5,), [((5,), (4,)), ((2, 2), (2, 2))])
    outer = table.op("outer", torch.outer)
    d = outer.draw
    outer("vectors", d.f(3), d.f(4))
    outer("promotion", d.i(3), d.f(2))
    outer("half", d.f(3, dtype=F16), d.f(2, dtype=F16))
    outer("empty", d.f(0), d.f(2))
    outer.error("matrix", d.f(2, 2), d.f(2))


def strict(table, name, function, left, right, wrong):
    """Products that take one rank only."""
    op = table.op(name, function)
    d = op.draw
    op("floats", d.f(*left), d.f(*right))
    op("double", d.f(*left, dtype=F64), d.f(*right, dtype=F64))
    op("half", d.f(*left, dtype=F16), d.f(*right, dtype=F16))
    op("ints", d.i(*left), d.i(*right))
    for a, b in wrong:
        op.error(f"{list(a)} and {list(b)}", d.f(*a), d.f(*b))
    op.error("dtypes", d.f(*left), d.f(*right, dtype=F64))


def sums(table):
    op = table.op("addmm", torch.addmm)
    d = op.draw
    op("matrix", d.f(2, 4), d.f(2, 3), d.f(3, 4))
    op("vector", d.f(4), d.f(2, 3), d.f(3, 4))
    op("scalars", d.f(2, 4), d.f(2, 3), d.f(3, 4), beta=0.5, alpha=-2)
    op("no beta", torch.full((2, 4), float("nan")), d.f(2, 3), d.f(3, 4), beta=0)
    op("half", d.f(2, 4, dtype=F16), d.f(2, 3, dtype=F16), d.f(3, 4, dtype=F16))
    op("ints", d.i(2, 4), d.i(2, 3), d.i(3, 4), beta=2)
    op.error("shapes", d.f(2, 4), d.f(2, 3), d.f(2, 4))
    op.error("input", d.f(3, 4), d.f(2, 3), d.f(3, 4))
    op.error("dtypes", d.f(4), d.f(2, 3), d.f(3, 4, dtype=F64))
    op = table.op("baddbmm", torch.baddbmm)
    d = op.draw
    op("batch", d.f(2, 2, 4), d.f(2, 2, 3), d.f(2, 3, 4))
    op("broadcast", d.f(4), d.f(2, 2, 3), d.f(2, 3, 4))
    op("scalars", d.f(2, 1, 4), d.f(2, 2, 3), d.f(2, 3, 4), beta=0.5, alpha=3)
    op("no beta", torch.full((2, 2, 4), float("nan")), d.f(2, 2, 3), d.f(2, 3, 4), beta=0)
    op.error("shapes", d.f(2, 2, 4), d.f(2, 2, 3), d.f(3, 3, 4))
    op.error("rank", d.f(2, 4), d.f(2, 3), d.f(3, 4))


def layers(table):
    op = table.op("linear", F.linear)
    d = op.draw
    op("batch", d.f(2, 3), d.f(4, 3), d.f(4))
    op("no bias", d.f(2, 3), d.f(4, 3), None)
    op("vector", d.f(3), d.f(4, 3), d.f(4))
    op("three dims", d.f(2, 2, 3), d.f(4, 3), d.f(4))
    op("double", d.f(2, 3, dtype=F64), d.f(4, 3, dtype=F64), d.f(4, dtype=F64))
    op("half", d.f(2, 3, dtype=F16), d.f(4, 3, dtype=F16), d.f(4, dtype=F16))
    op("bfloat16", d.f(2, 3, dtype=BF16), d.f(4, 3, dtype=BF16), None)
    op("empty batch", d.f(0, 3), d.f(4, 3), d.f(4))
    op("one output", d.f(2, 3), d.f(1, 3), d.f(1))
    op.error("features", d.f(2, 3), d.f(4, 2), None)
    op.error("bias", d.f(2, 3), d.f(4, 3), d.f(3))
    op.error("dtypes", d.f(2, 3), d.f(4, 3, dtype=F64), None)

    op = table.op("bilinear", F.bilinear)
    d = op.draw
    op("batch", d.f(2, 3), d.f(2, 2), d.f(4, 3, 2), d.f(4))
    op("no bias", d.f(2, 3), d.f(2, 2), d.f(1, 3, 2), None)
    op("three dims", d.f(2, 2, 3), d.f(2, 2, 2), d.f(2, 3, 2), d.f(2))
    op("double", d.f(2, 3, dtype=F64), d.f(2, 2, dtype=F64), d.f(4, 3, 2, dtype=F64), None)
    op.error("features", d.f(2, 3), d.f(2, 2), d.f(4, 2, 2), None)
    op.error("batches", d.f(2, 3), d.f(3, 2), d.f(4, 3, 2), None)

    op = table.op("cdist", torch.cdist)
    d = op.draw
    for p in (0.0, 0.5, 1.0, 2.0, 3.0, float("inf")):
        a, b = d.f(3, 4), d.f(2, 4)
        b[0, 0] = a[1, 0]
        op(f"p = {p}", a, b, **({} if p == 2.0 else {"p": p}))
    op("batch", d.f(2, 3, 2), d.f(2, 2, 2))
    op("broadcast", d.f(2, 1, 3, 2), d.f(3, 2, 2), p=1.0)
    op("equal rows", torch.ones(2, 3), torch.ones(2, 3), p=3.0)
    op("transposed", d.f(3, 4).t(), d.f(3, 2).t())
    op("double", d.f(3, 4, dtype=F64), d.f(2, 4, dtype=F64))
    op("not finite", torch.tensor([[NAN, 1.0], [INF, 1.0]]), torch.tensor([[0.0, 2.0], [INF, 3.0]]))
    op("no elements", d.f(2, 0), d.f(3, 0))
    op("no rows", d.f(0, 2), d.f(3, 2))
    op("none to compare with", d.f(2, 2), d.f(0, 2))
    op.error("widths", d.f(2, 3), d.f(2, 4))
    op.error("vectors", d.f(3), d.f(2, 3))
    op.error("ints", d.i(2, 3), d.i(2, 3))
    op.error("dtypes", d.f(2, 3), d.f(2, 3, dtype=F64))
    op.error("batches", d.f(2, 2, 3), d.f(3, 2, 3))
    op.error("negative p", d.f(2, 3), d.f(2, 3), p=-1.0)
    many = d.f(30, 2)
    op("many rows", many, torch.cat([many[4:5], d.f(1, 2)]))
    op("many rows, not finite", torch.tensor([[INF, 1.0], [NAN, 0.0]]), many)

    op = table.op("cosine_similarity", F.cosine_similarity)
    d = op.draw
    op("defaults", d.f(3, 4), d.f(3, 4))
    op("dim", d.f(3, 4), d.f(3, 4), dim=0)
    op("negative dim", d.f(2, 3, 2), d.f(2, 3, 2), dim=-1)
    op("broadcast", d.f(3, 1, 4), d.f(2, 4), dim=-1)
    op("eps", d.f(2, 3) * 0.01, d.f(2, 3), eps=0.5)
    op("zeros", torch.zeros(2, 3), d.f(2, 3))
    op("double", d.f(2, 3, dtype=F64), d.f(2, 3, dtype=F64))
    op("promotion", d.f(2, 3), d.f(2, 3, dtype=F64))
    op.error("shapes", d.f(2, 3), d.f(2, 4))
    op.error("dim out of range", d.f(2, 3), d.f(2, 3), dim=2)
    large = torch.tensor([[3e38, 3e38], [2e38, 0.0], [3e38, 2e38]])
    op("large", large, large.flip(1))
    op("not finite", torch.tensor([[NAN, 1.0], [INF, 1.0]]), torch.ones(2, 2))


def einsum(table):
    op = table.op("einsum", lambda operands, equation: torch.einsum(equation, *operands))
    d = op.draw
    op("product", [d.f(2, 3), d.f(3, 4)], equation="ij,jk->ik")
    op("implicit", [d.f(2, 3), d.f(3, 4)], equation="ij,jk")
    op("transpose", [d.f(2, 3)], equation="ij->ji")
    op("sum", [d.f(2, 3)], equation="ij->")
    op("trace", [d.f(3, 3)], equation="ii")
    op("diagonal", [d.f(3, 3)], equation="ii->i")
    op("batch", [d.f(2, 2, 3), d.f(2, 3, 2)], equation="bij,bjk->bik")
    op("attention", [d.f(1, 2, 2, 3), d.f(1, 3, 2, 3)], equation="bqhd,bkhd->bhqk")
    op("outer", [d.f(2), d.f(3)], equation="i,j->ij")
    op("three", [d.f(2, 3), d.f(3, 2), d.f(2)], equation="ij,jk,k->i")
    op("ellipsis", [d.f(2, 2, 3), d.f(3, 2)], equation="...ij,jk->...ik")
    op("ellipsis broadcast", [d.f(2, 1, 3), d.f(4, 3)], equation="...i,...i->...")
    op("spaces", [d.f(2, 3), d.f(3)], equation=" i j , j -> i ")
    op("broadcast one", [d.f(1, 3), d.f(2, 3)], equation="ij,ij->ij")
    op("half", [d.f(2, 3, dtype=F16), d.f(3, 2, dtype=F16)], equation="ij,jk->ik")
    op.error("sizes", [d.f(2, 3), d.f(4, 2)], equation="ij,jk->ik")
    op.error("rank", [d.f(2, 3)], equation="ijk->i")
    op.error("output letter", [d.f(2, 3)], equation="ij->ik")
    op.error("operand count", [d.f(2, 3)], equation="ij,jk->ik")
    op.error("characters", [d.f(2, 3)], equation="i1->i")


def canonical_mask(table):
    def call(mask, num_heads=1, dtype=F32):
        mask = F._canonical_mask(mask, "mask", None, "", dtype)
        return mask.view(-1, num_heads, *mask.shape[1:]) if mask.dim() == 3 else mask

    op = table.op("canonical_mask", call)
    d = op.draw
    hidden = torch.tensor([[False, True], [True, False], [False, False]])
    op("bool", hidden)
    op("numbers", d.f(3, 2))
    op("of heads", torch.stack([hidden, ~hidden, hidden, hidden]), num_heads=2)
    op("numbers of heads", d.f(4, 3, 2), num_heads=4)
    op("one head", d.f(2, 3, 2))
    op("double", hidden, dtype=F64)
    op("half", hidden, dtype=F16)
    op("half numbers", d.f(3, 2, dtype=F16))
    op("all", torch.ones(2, 2, dtype=torch.bool))
    op("no keys", torch.zeros(2, 0, dtype=torch.bool))
    op.error("integers", torch.ones(2, 2, dtype=torch.int64))
    op.error("heads", d.f(3, 2, 2), num_heads=2)


def attention(table):
    op = table.op("scaled_dot_product_attention", F.scaled_dot_product_attention)
    d = op.draw
    q, k, v = d.f(1, 2, 3, 4), d.f(1, 2, 2, 4), d.f(1, 2, 2, 4)
    op("plain", q, k, v, None)
    op("three dims", d.f(2, 3, 2), d.f(2, 4, 2), d.f(2, 4, 2), None)
    op("two dims", d.f(3, 2), d.f(4, 2), d.f(4, 2), None)
    op("mask", q, k, v, torch.tensor([[True, False], [True, True], [False, True]]))
    op("added mask", q, k, v, d.f(3, 2))
    op("mask of all heads", q, k, v, d.f(1, 1, 3, 2))
    op("causal", d.f(1, 1, 3, 2), d.f(1, 1, 3, 2), d.f(1, 1, 3, 2), None, is_causal=True)
    op("causal longer keys", d.f(1, 1, 2, 2), d.f(1, 1, 4, 2), d.f(1, 1, 4, 2), None, is_causal=True)
    op("scale", q, k, v, None, scale=0.3)
    op("other value size", q, k, d.f(1, 2, 2, 3), None)
    op("grouped", d.f(1, 4, 2, 2), d.f(1, 2, 3, 2), d.f(1, 2, 3, 2), None, enable_gqa=True)
    op("masked row", d.f(2, 2), d.f(2, 2), d.f(2, 2), torch.tensor([[False, False], [True, True]]))
    op("double", q.double(), k.double(), v.double(), None)
    op("half", q.half(), k.half(), v.half(), None)
    op.random("dropout", q, k, v, None, dropout_p=0.5)
    op.error("mask and causal", q, k, v, torch.ones(3, 2, dtype=torch.bool), is_causal=True)
    op.error("key size", q, d.f(1, 2, 2, 3), v, None)
    op.error("dtypes", q, k.double(), v, None)
