"""Convolutions."""

import torch
import torch.nn.functional as F

F16, F64 = torch.float16, torch.float64
SPACES = {1: (6,), 2: (4, 5), 3: (3, 3, 4)}
KERNELS = {1: (3,), 2: (3, 2), 3: (2, 2, 2)}


def rows(table):
    for n in (1, 2, 3):
        conv(table, n)
        transposed(table, n)


def each(n, *values):
    return tuple(values[:n])


def conv(table, n):
    op = table.op(f"conv{n}d", getattr(F, f"conv{n}d"))
    d = op.draw
    space, kernel = SPACES[n], KERNELS[n]
    x, w = d.f(1, 2, *space), d.f(3, 2, *kernel)
    op("plain", x, w, None)
    op("bias", x, w, d.f(3))
    op("batch", d.f(2, 1, *space), d.f(1, 1, *kernel), None)
    op("stride", x, w, None, stride=each(n, 2, 1, 2))
    op("padding", x, w, None, padding=each(n, 1, 2, 1))
    op("one number", x, w, None, stride=2, padding=1)
    op("dilation", x, w, None, dilation=each(n, 1, 2, 1))
    op("all", d.f(1, 2, *space), w, d.f(3), stride=each(n, 2, 2, 2), padding=each(n, 2, 1, 2), dilation=each(n, 2, 2, 2))
    op("groups", d.f(1, 4, *space), d.f(2, 2, *kernel), d.f(2), groups=2)
    op("depthwise", d.f(1, 2, *space), d.f(4, 1, *kernel), None, groups=2)
    op("same", x, w, None, padding="same")
    op("same dilation", x, w, None, padding="same", dilation=each(n, 2, 1, 2))
    op("valid", x, w, None, padding="valid")
    op("unbatched", d.f(2, *space), w, d.f(3))
    op("pointwise", d.f(1, 2, *space), d.f(3, 2, *([1] * n)), d.f(3))
    op("double", x.double(), w.double(), None)
    op("half", x.half(), w.half(), None)
    op.error("channels", d.f(1, 3, *space), w, None)
    op.error("kernel too large", d.f(1, 2, *([1] * n)), w, None)
    op.error("same with stride", x, w, None, padding="same", stride=each(n, 2, 2, 2))
    op.error("bias size", x, w, d.f(2))
    op.error("dtypes", x, w.double(), None)
    op.error("channels of groups", d.f(1, 3, *space), d.f(2, 1, *kernel), None, groups=2)
    op.error("zero stride", x, w, None, stride=each(n, 0, 1, 1))
    op.error("rank", d.f(1, 1, 1, 2, *space), w, None)


def transposed(table, n):
    op = table.op(f"conv_transpose{n}d", getattr(F, f"conv_transpose{n}d"))
    d = op.draw
    space, kernel = {1: (4,), 2: (2, 3), 3: (2, 2, 2)}[n], KERNELS[n]
    x, w = d.f(1, 2, *space), d.f(2, 3 - n // 3, *kernel)
    out = w.shape[1]
    op("plain", x, w, None)
    op("bias", x, w, d.f(out))
    op("batch", d.f(2, 1, *space), d.f(1, 1, *kernel), None)
    op("stride", x, w, None, stride=each(n, 2, 1, 2))
    op("padding", x, w, None, padding=each(n, 1, 1, 1))
    op("output padding", x, w, d.f(out), stride=each(n, 2, 3, 2), output_padding=each(n, 1, 2, 1))
    op("dilation", x, w, None, dilation=each(n, 2, 3, 1))
    op("groups", d.f(1, 4, *space), d.f(4, 1, *kernel), d.f(2), groups=2)
    op("all", d.f(1, 2, *space), d.f(2, 1, *kernel), None, stride=each(n, 2, 2, 3), padding=each(n, 1, 0, 1),
       output_padding=each(n, 1, 0, 1), groups=2, dilation=each(n, 2, 1, 2))
    op("unbatched", d.f(2, *space), d.f(2, 1, *kernel), d.f(1))
    op("double", x.double(), w.double(), None)
    op.error("channels", d.f(1, 3, *space), w, None)
    op.error("output padding too large", x, w, None, output_padding=each(n, 1, 1, 1))
    op.error("dtypes", x, w.double(), None)
