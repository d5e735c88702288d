"""New tensors."""

import torch

F16, F64 = torch.float16, torch.float64
F32, I64, I32 = torch.float32, torch.int64, torch.int32


def rows(table):
    filled(table)
    ranges(table)
    alike(table)
    drawn(table)


def filled(table):
    for name in ("zeros", "ones"):
        op = table.op(name, lambda size, name=name, **kw: getattr(torch, name)(size, **kw))
        op("matrix", size=(2, 3))
        op("scalar tensor", size=())
        op("empty", size=(0, 2))
        op("half", size=(3,), dtype=F16)
        op("bool", size=(3,), dtype=torch.bool)
        op("ints", size=(2,), dtype=I64)
        op.error("negative", size=(-1, 2))

    op = table.op("full", torch.full)
    op("float", size=(2, 3), fill_value=1.5)
    op("int", size=(2,), fill_value=7)
    op("bool", size=(2,), fill_value=True)
    op("dtype", size=(2,), fill_value=2.75, dtype=I32)
    op("infinity", size=(2, 1), fill_value=float("-inf"))
    op("scalar tensor", size=(), fill_value=3)
    op.error("negative", size=(-1,), fill_value=0.0)

    op = table.op("eye", lambda n, m=None, **kw: torch.eye(n, n if m is None else m, **kw))
    op("square", n=3)
    op("wide", n=2, m=4)
    op("tall", n=3, m=2)
    op("ints", n=2, dtype=I64)
    op("empty", n=0)
    op.error("negative", n=-1)


def ranges(table):
    op = table.op("arange", lambda end, start=0, step=1, **kw: torch.arange(start, end, step, **kw))
    op("end", end=5)
    op("start", end=5, start=2)
    op("step", end=10, start=1, step=3)
    op("backwards", end=0, start=5, step=-2)
    op("floats", end=2.25, start=0.5, step=0.5)
    op("float end", end=3.5)
    op("dtype", end=4, dtype=F32)
    op("float as int", end=5.0, step=2, dtype=I64)
    op("empty", end=0)
    op.error("direction", end=0, start=5)
    op.error("no step", end=5, step=0)

    op = table.op("linspace", torch.linspace)
    op("unit", start=0.0, end=1.0, steps=5)
    op("backwards", start=2.0, end=-1.0, steps=7)
    op("one", start=0.5, end=3.0, steps=1)
    op("none", start=0.5, end=3.0, steps=0)
    op("two", start=0.1, end=0.7, steps=2)
    op("double", start=0.0, end=1.0, steps=4, dtype=F64)
    op("half", start=0.0, end=1.0, steps=4, dtype=F16)
    op("ints", start=0.0, end=10.0, steps=5, dtype=I64)
    op.error("negative", start=0.0, end=1.0, steps=-1)
    op = table.op("logspace", torch.logspace)
    op("tens", start=-1.0, end=2.0, steps=4)
    op("twos", start=0.0, end=5.0, steps=6, base=2.0)
    op("one", start=0.5, end=3.0, steps=1)
    op("none", start=0.5, end=3.0, steps=0)
    op("double", start=0.0, end=1.0, steps=4, dtype=F64)
    op.error("negative", start=0.0, end=1.0, steps=-1)


def alike(table):
    for name in ("zeros_like", "ones_like"):
        op = table.op(name, getattr(torch, name))
        op("floats", op.draw.f(2, 3))
        op("ints", op.draw.i(3))
        op("dtype", op.draw.f(2), dtype=I64)
        op("scalar tensor", op.draw.f(dtype=F16))
        op("empty", op.draw.f(0, 2))
    op = table.op("full_like", torch.full_like)
    op("floats", op.draw.f(2, 3), fill_value=1.5)
    op("int of floats", op.draw.f(2), fill_value=3)
    op("float of ints", op.draw.i(2), fill_value=2.75)
    op("dtype", op.draw.i(2), fill_value=2.75, dtype=F64)
    op("bool", op.draw.b(2), fill_value=True)
    for name in ("rand_like", "randn_like"):
        op = table.op(name, getattr(torch, name))
        op.random("floats", op.draw.f(2, 3))
        op.random("half", op.draw.f(3, dtype=F16))
        op.random("dtype", op.draw.i(3), dtype=F64)
        op.random("scalar tensor", op.draw.f())
        op.error("ints", op.draw.i(3))


def drawn(table):
    for name in ("rand", "randn"):
        op = table.op(name, lambda size, name=name, **kw: getattr(torch, name)(size, **kw))
        op.random("matrix", size=(2, 3))
        op.random("scalar tensor", size=())
        op.random("double", size=(4,), dtype=F64)
        op.random("half", size=(4,), dtype=F16)
        op.random("empty", size=(0, 2))
        op.error("ints", size=(2,), dtype=I64)
        op.error("negative", size=(-1,))
    op = table.op("randint", torch.randint)
    op.random("matrix", low=0, high=10, size=(2, 3))
    op.random("floats", low=-5, high=5, size=(4,), dtype=F32)
    op("one value", low=3, high=4, size=(4,))
    op.error("nothing between", low=3, high=3, size=(2,))
    op = table.op("randperm", torch.randperm)
    op.random("ten", n=10)
    op.random("i32", n=4, dtype=I32)
    op("one", n=1)
    op.random("none", n=0)
    op.error("negative", n=-1)

    op = table.op("bernoulli", torch.bernoulli)
    op.random("floats", torch.sigmoid(op.draw.f(2, 3)))
    op.random("half", torch.sigmoid(op.draw.f(3)).half())
    op("sure", torch.tensor([0.0, 1.0, 1.0]))
    op.error("outside", torch.tensor([1.5]))
    op.error("ints", op.draw.i(2, low=0, high=2))
    op = table.op("multinomial", torch.multinomial)
    op.random("vector", op.draw.positive(5), num_samples=3)
    op.random("rows", op.draw.positive(2, 5), num_samples=2)
    op.random("replacement", op.draw.positive(3), num_samples=7, replacement=True)
    op("sure", torch.tensor([0.0, 2.0, 0.0]), num_samples=1)
    op.error("too many", op.draw.positive(3), num_samples=4)
    op.error("negative", torch.tensor([-1.0, 1.0]), num_samples=1)
    op.error("zeros", torch.zeros(3), num_samples=1)
    op.error("ints", op.draw.i(3, low=1), num_samples=1)
    op.error("none", op.draw.positive(3), num_samples=0)
