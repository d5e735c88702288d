"""Reductions and scans."""

import torch

F16, BF16, F64 = torch.float16, torch.bfloat16, torch.float64
I64, I32, U8 = torch.int64, torch.int32, torch.uint8
NAN, INF = float("nan"), float("inf")


def rows(table):
    sums(table)
    extremes(table)
    tests(table)
    norms(table)
    scans(table)


def sums(table):
    for name in ("sum", "mean"):
        op = table.op(name, getattr(torch, name))
        d = op.draw
        op("all", d.f(2, 3, 4))
        op("dim", d.f(2, 3, 4), dim=(1,))
        op("last", d.f(2, 3, 4), dim=(-1,))
        op("two dims keepdim", d.f(2, 3, 4), dim=(0, -1), keepdim=True)
        op("all dims", d.f(2, 3), dim=(0, 1))
        op("no dims", d.f(2, 3), dim=())
        op("half", d.f(3, 4, dtype=F16), dim=(0,))
        op("bfloat16", d.f(3, 4, dtype=BF16))
        op("double", d.f(6, dtype=F64))
        op("ints as f64", d.i(5), dtype=F64)
        op("half as f32", d.f(4, dtype=F16), dtype=torch.float32)
        op("scalar tensor", d.f())
        op("scalar tensor dim", d.f(), dim=(0,))
        op("empty", d.f(0, 3))
        op("empty dim", d.f(0, 3), dim=(0,))
        op("nan", torch.tensor([1.0, NAN]))
        op.error("dim out of range", d.f(2, 3), dim=(2,))
        op.error("dim twice", d.f(2, 3), dim=(0, -2))
    total = table.ops["sum"]
    total("ints", total.draw.i(2, 3, dtype=I32), dim=(1,))
    total("bools", total.draw.b(7))
    total("u8", total.draw.i(5, low=100, high=255, dtype=U8))
    mean = table.ops["mean"]
    mean.error("ints", mean.draw.i(4))
    mean.error("int dtype", mean.draw.f(4), dtype=I64)

    def prod(x, dim=None, **kwargs):
        if dim is None:
            kwargs.pop("keepdim", None)
            return torch.prod(x, **kwargs)
        return torch.prod(x, dim, **kwargs)

    op = table.op("prod", prod)
    d = op.draw
    op("all", d.f(2, 4))
    op("dim", d.f(2, 4), dim=0)
    op("keepdim", d.f(2, 3, 2), dim=-2, keepdim=True)
    op("ints", d.i(4, low=1, dtype=I32))
    op("bools", d.b(3))
    op("dtype", d.i(4, low=1), dtype=torch.float32)
    op("double", d.f(4, dtype=F64))
    op("half", d.f(4, dtype=F16))
    op("empty", d.f(0))
    op("scalar tensor", d.f())
    op.error("dim out of range", d.f(2, 3), dim=2)

    for name in ("var", "std"):
        op = table.op(name, getattr(torch, name))
        d = op.draw
        op("all", d.f(3, 4))
        op("dim", d.f(3, 4), dim=(0,))
        op("two dims keepdim", d.f(2, 3, 4), dim=(0, 2), keepdim=True)
        op("population", d.f(3, 4), dim=(1,), correction=0)
        op("float correction", d.f(3, 4), dim=(-1,), correction=1.5)
        op("offset", d.f(5) + 1000.0)
        op("double", d.f(5, dtype=F64))
        op("half", d.f(5, dtype=F16))
        op("one element", d.f(1), correction=0)
        op("no freedom", d.f(1))
        op("empty", d.f(0))
        op.error("ints", d.i(3))
        op.error("dim out of range", d.f(3), dim=(1,))


def extremes(table):
    for name in ("max", "min"):
        function = getattr(torch, name)

        def extreme(x, dim=None, function=function, **kwargs):
            return function(x) if dim is None else tuple(function(x, dim, **kwargs))

        op = table.op(name, extreme)
        d = op.draw
        op("all", d.distinct(3, 4))
        op("dim", d.distinct(3, 4), dim=0)
        op("negative keepdim", d.distinct(2, 3, 2), dim=-2, keepdim=True)
        op("ints", d.distinct(3, 4, dtype=I32), dim=1)
        op("bools", torch.tensor([False, True]))
        op("half", d.distinct(5, dtype=F16))
        op("nan", torch.tensor([[1.0, NAN, 3.0], [2.0, 5.0, 4.0]]), dim=1)
        op("nan of all", torch.tensor([1.0, NAN, 3.0]))
        op("scalar tensor", d.f(), dim=0)
        op("empty rows", d.f(0, 3), dim=1)
        op.error("empty", d.f(0))
        op.error("empty dim", d.f(0, 3), dim=0)
        op.error("dim out of range", d.f(2, 3), dim=2)

        op = table.op(f"a{name}", getattr(torch, f"a{name}"))
        d = op.draw
        op("all", d.f(3, 4))
        op("dim", d.f(3, 4), dim=(1,))
        op("two dims keepdim", d.f(2, 3, 4), dim=(0, -1), keepdim=True)
        op("ints", d.i(3, 4), dim=(0,))
        op("bools", d.b(4))
        op("bfloat16", d.f(5, dtype=BF16))
        op("nan", torch.tensor([1.0, NAN, INF]))
        op("scalar tensor", d.f())
        op.error("empty", d.f(0))
        op.error("dim out of range", d.f(2, 3), dim=(2,))

        op = table.op(f"arg{name}", getattr(torch, f"arg{name}"))
        d = op.draw
        op("all", d.distinct(3, 4))
        op("dim", d.distinct(3, 4), dim=0)
        op("keepdim", d.distinct(2, 3, 2), dim=-1, keepdim=True)
        op("all keepdim", d.distinct(2, 3), keepdim=True)
        op("ints", d.distinct(6, dtype=I64))
        op("half", d.distinct(6, dtype=F16))
        op("nan", torch.tensor([1.0, NAN, 3.0]))
        op("ties", torch.tensor([[1.0, 2.0, 2.0, 1.0]]), dim=1)
        op("scalar tensor", d.f())
        op.error("empty", d.f(0))
        op.error("dim out of range", d.f(2, 3), dim=2)


def tests(table):
    for name in ("any", "all"):
        op = table.op(name, getattr(torch, name))
        d = op.draw
        op("all", d.b(3, 4))
        op("dim", d.b(3, 4), dim=(0,))
        op("two dims keepdim", d.b(2, 3, 2), dim=(0, -1), keepdim=True)
        op("floats", torch.tensor([[0.0, 1.5], [0.0, 0.0]]), dim=(1,))
        op("nan", torch.tensor([NAN, 1.0]))
        op("ints", d.i(3, 4, low=0, high=2))
        op("u8", torch.tensor([[0, 2], [1, 3]], dtype=U8))
        op("empty", d.b(0))
        op("scalar tensor", torch.tensor(2.0))
        op.error("dim out of range", d.b(2), dim=(1,))

    op = table.op("count_nonzero", torch.count_nonzero)
    d = op.draw
    op("all", d.i(3, 4, low=-1, high=2))
    op("dim", d.i(3, 4, low=-1, high=2), dim=(0,))
    op("two dims", d.i(2, 3, 4, low=0, high=2), dim=(0, 2))
    op("floats", torch.tensor([0.0, -0.0, NAN, 2.0]))
    op("bools", d.b(5))
    op("empty", d.f(0))
    op.error("dim out of range", d.b(2), dim=(1,))


def norms(table):
    op = table.op("norm", torch.norm)
    d = op.draw
    op("all", d.f(3, 4))
    op("dim", d.f(3, 4), dim=(1,))
    op("two dims keepdim", d.f(2, 3, 4), dim=(0, 2), keepdim=True)
    for p in (0.0, 1.0, 3.0, 0.5, INF, -INF):
        op(f"p {p}", d.f(3, 4), p=p, dim=(0,))
        op(f"p {p}, not a number", torch.tensor([[1.0, NAN], [NAN, 2.0], [3.0, 0.5]]), p=p, dim=(0,))
    op("double", d.f(4, dtype=F64))
    op("half", d.f(4, dtype=F16))
    op("empty", d.f(0))
    op("scalar tensor", d.f())
    op.error("ints", d.i(4))
    op.error("dim out of range", d.f(2, 3), dim=(2,))

    op = table.op("logsumexp", torch.logsumexp)
    d = op.draw
    op("dim", d.f(3, 4), dim=(1,))
    op("two dims keepdim", d.f(2, 3, 4), dim=(0, 2), keepdim=True)
    op("large", d.f(2, 4) * 500, dim=(-1,))
    op("infinities", torch.tensor([[-INF, -INF], [INF, 1.0], [-INF, 2.0]]), dim=(1,))
    op("ints", d.i(3, 4), dim=(0,))
    op("double", d.f(4, dtype=F64), dim=(0,))
    op("half", d.f(4, dtype=F16), dim=(0,))
    op.error("dim out of range", d.f(2, 3), dim=(2,))


def scans(table):
    for name in ("cumsum", "cumprod"):
        op = table.op(name, getattr(torch, name))
        d = op.draw
        op("last", d.f(2, 5), dim=-1)
        op("first", d.f(4, 2), dim=0)
        op("middle", d.f(2, 3, 2), dim=1)
        op("ints", d.i(5, dtype=I32), dim=0)
        op("bools", d.b(5), dim=0)
        op("double", d.f(5, dtype=F64), dim=0)
        op("half", d.f(5, dtype=F16), dim=0)
        op("empty", d.f(0, 2), dim=0)
        op("scalar tensor", d.f(), dim=0)
        op("nan", torch.tensor([1.0, NAN, 2.0]), dim=0)
        op.error("dim out of range", d.f(2, 3), dim=2)
