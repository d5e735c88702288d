"""Pooling."""

import torch
import torch.nn.functional as F

F16, F64 = torch.float16, torch.float64
SPACES = {1: (7,), 2: (4, 5), 3: (3, 4, 3)}


def rows(table):
    for n in (1, 2, 3):
        maxima(table, n)
        averages(table, n)
        adaptive(table, n)
    op = table.op("max_pool2d_with_indices", lambda x, **kw: F.max_pool2d(x, return_indices=True, **kw))
    max_samples(op, 2)
    power(table)


def each(n, *values):
    return tuple(values[:n])


def maxima(table, n):
    max_samples(table.op(f"max_pool{n}d", getattr(F, f"max_pool{n}d")), n)


def max_samples(op, n):
    d = op.draw
    x = d.distinct(1, 2 if n < 3 else 1, *SPACES[n])
    two = each(n, 2, 2, 2)
    op("kernel", x, kernel_size=two)
    op("one number", x, kernel_size=3, stride=1)
    op("stride", x, kernel_size=each(n, 3, 2, 2), stride=each(n, 1, 2, 1))
    op("padding", x, kernel_size=two, padding=each(n, 1, 1, 0))
    op("dilation", x, kernel_size=two, stride=each(n, 1, 1, 1), dilation=each(n, 2, 1, 2))
    op("ceil", x, kernel_size=two, ceil_mode=True)
    op("ceil padding", x, kernel_size=each(n, 3, 3, 3), stride=two, padding=each(n, 1, 1, 1), ceil_mode=True)
    op("unbatched", d.distinct(2, *SPACES[n]), kernel_size=two)
    op("double", d.distinct(1, 1, *SPACES[n], dtype=F64), kernel_size=two)
    op("half", d.distinct(1, 1, *SPACES[n], dtype=F16), kernel_size=two)
    with_nan = x.clone()
    with_nan.view(-1)[3] = float("nan")
    op("nan", with_nan, kernel_size=two)
    op.error("padding too large", x, kernel_size=two, padding=each(n, 2, 2, 2))
    op.error("kernel too large", x, kernel_size=each(n, 9, 9, 9))
    op.error("rank", d.f(3), kernel_size=two)


def averages(table, n):
    op = table.op(f"avg_pool{n}d", getattr(F, f"avg_pool{n}d"))
    d = op.draw
    x = d.f(1, 2 if n < 3 else 1, *SPACES[n])
    two = each(n, 2, 2, 2)
    op("kernel", x, kernel_size=two)
    op("one number", x, kernel_size=3, stride=1)
    op("stride", x, kernel_size=each(n, 3, 2, 2), stride=each(n, 1, 2, 1))
    op("padding", x, kernel_size=two, padding=each(n, 1, 1, 0))
    op("padding not counted", x, kernel_size=two, padding=each(n, 1, 1, 1), count_include_pad=False)
    op("ceil", x, kernel_size=two, ceil_mode=True)
    op("ceil padding", x, kernel_size=each(n, 3, 3, 3), stride=two, padding=each(n, 1, 1, 1), ceil_mode=True)
    op("ceil padding not counted", x, kernel_size=each(n, 3, 3, 3), stride=two, padding=each(n, 1, 1, 1),
       ceil_mode=True, count_include_pad=False)
    if n > 1:
        op("divisor", x, kernel_size=two, divisor_override=3)
    op("unbatched", d.f(2, *SPACES[n]), kernel_size=two)
    op("double", d.f(1, 1, *SPACES[n], dtype=F64), kernel_size=two)
    if n < 3:
        op("half", d.f(1, 1, *SPACES[n], dtype=F16), kernel_size=two)
    op.error("padding too large", x, kernel_size=two, padding=each(n, 2, 2, 2))
    op.error("kernel too large", x, kernel_size=each(n, 9, 9, 9))
    op.error("rank", d.f(3), kernel_size=two)


def adaptive(table, n):
    for kind in ("avg", "max"):
        op = table.op(f"adaptive_{kind}_pool{n}d", getattr(F, f"adaptive_{kind}_pool{n}d"))
        d = op.draw
        x = d.f(1, 2 if n < 3 else 1, *SPACES[n])
        op("one", x, output_size=each(n, 1, 1, 1))
        op("divides unevenly", x, output_size=each(n, 3, 3, 2))
        op("number", x, output_size=2)
        op("larger", x, output_size=each(n, 9, 2, 3))
        op("unbatched", d.f(2, *SPACES[n]), output_size=each(n, 2, 3, 2))
        op("double", d.f(1, 1, *SPACES[n], dtype=F64), output_size=each(n, 2, 2, 2))
        op.error("rank", d.f(3), output_size=each(n, 2, 2, 2))


def power(table):
    op = table.op("lp_pool2d", F.lp_pool2d)
    d = op.draw
    x = d.positive(1, 2, 4, 5)
    op("two", x, norm_type=2.0, kernel_size=(2, 2))
    op("three", x, norm_type=3.0, kernel_size=(2, 2))
    op("one", x, norm_type=1.0, kernel_size=2)
    op("stride", x, norm_type=2.0, kernel_size=(3, 2), stride=(1, 2))
    op("ceil", x, norm_type=2.0, kernel_size=(2, 2), ceil_mode=True)
    op("signs", d.f(1, 1, 4, 4), norm_type=2.0, kernel_size=(2, 2))
    op("unbatched", d.positive(2, 4, 4), norm_type=2.0, kernel_size=(2, 2))
    op.error("kernel too large", x, norm_type=2.0, kernel_size=(9, 9))
