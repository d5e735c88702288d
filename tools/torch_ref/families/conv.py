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
    windows(table)


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


def windows(table):
    op = table.op("im2col", F.unfold)
    d = op.draw
    x = d.f(1, 2, 4, 5)
    op("plain", x, kernel_size=(2, 3))
    op("one number", x, kernel_size=2)
    op("stride", x, kernel_size=(2, 2), stride=(2, 3))
    op("padding", x, kernel_size=(3, 2), padding=(1, 2))
    op("dilation", x, kernel_size=(2, 2), dilation=(3, 2))
    op("all", d.f(2, 1, 4, 5), kernel_size=(2, 3), dilation=(2, 1), padding=(1, 0), stride=(2, 2))
    op("unbatched", d.f(2, 4, 3), kernel_size=(2, 2))
    op("transposed", d.f(1, 2, 5, 4).transpose(2, 3), kernel_size=(2, 2))
    op("double", x.double(), kernel_size=(3, 3))
    op("half", x.half(), kernel_size=(3, 3))
    op("no batch elements", d.f(0, 2, 3, 3), kernel_size=(2, 2))
    op.error("ints", d.i(1, 2, 4, 5), kernel_size=(2, 2))
    op.error("kernel too large", x, kernel_size=(5, 2))
    op.error("rank", d.f(4, 5), kernel_size=(2, 2))
    op.error("zero stride", x, kernel_size=(2, 2), stride=(0, 1))
    op.error("zero kernel", x, kernel_size=(2, 0))

    op = table.op("fold", F.fold)
    d = op.draw
    op("plain", d.f(1, 8, 12), output_size=(4, 5), kernel_size=(2, 2))
    op("one number", d.f(2, 4, 9), output_size=(4, 4), kernel_size=2)
    op("stride", d.f(1, 4, 4), output_size=(4, 5), kernel_size=(2, 2), stride=(2, 3))
    op("padding", d.f(1, 6, 32), output_size=(4, 5), kernel_size=(3, 2), padding=(1, 2))
    op("dilation", d.f(1, 4, 3), output_size=(4, 5), kernel_size=(2, 2), dilation=(3, 2))
    op("all", d.f(2, 6, 4), output_size=(4, 5), kernel_size=(2, 3), dilation=(2, 1), padding=(1, 0), stride=(2, 2))
    op("unbatched", d.f(8, 12), output_size=(4, 5), kernel_size=(2, 2))
    op("transposed", d.f(1, 12, 8).transpose(1, 2), output_size=(4, 5), kernel_size=(2, 2))
    op("double", d.f(1, 8, 12, dtype=F64), output_size=(4, 5), kernel_size=(2, 2))
    op("half", d.f(1, 8, 4, dtype=F16), output_size=(4, 4), kernel_size=(2, 2), stride=(2, 2))
    op.error("ints", d.i(1, 8, 12), output_size=(4, 5), kernel_size=(2, 2))
    op.error("windows", d.f(1, 8, 11), output_size=(4, 5), kernel_size=(2, 2))
    op.error("channels", d.f(1, 7, 12), output_size=(4, 5), kernel_size=(2, 2))
    op.error("kernel too large", d.f(1, 4, 4), output_size=(1, 5), kernel_size=(2, 2))
    op.error("rank", d.f(1, 1, 8, 12), output_size=(4, 5), kernel_size=(2, 2))
    op.error("zero stride", d.f(1, 8, 12), output_size=(4, 5), kernel_size=(2, 2), stride=(0, 1))
    op.error("negative padding", d.f(1, 8, 12), output_size=(4, 5), kernel_size=(2, 2), padding=(-1, 0))
