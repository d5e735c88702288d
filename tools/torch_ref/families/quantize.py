"""Integers for floats, by a scale and a zero point."""

import torch
import torch.ao.quantization.fx._decomposed  # registers the ops

Q = torch.ops.quantized_decomposed
F16, F32, F64, BF16 = torch.float16, torch.float32, torch.float64, torch.bfloat16
U8, I8, I32 = torch.uint8, torch.int8, torch.int32
RANGES = {U8: (0, 255), I8: (-128, 127), I32: (-2**31, 2**31 - 1)}
INF, NAN = float("inf"), float("nan")


def quantize_per_tensor(input, scale, zero_point, *, quant_min, quant_max, dtype):
    op = Q.quantize_per_tensor
    call = op.tensor if isinstance(scale, torch.Tensor) else op.default
    try:
        return call(input, scale, zero_point, quant_min, quant_max, dtype)
    except ZeroDivisionError as error:
        raise ValueError(error)


def dequantize_per_tensor(input, scale, zero_point):
    # The range is not used by PyTorch, and not part of the op here.
    op = Q.dequantize_per_tensor
    call = op.tensor if isinstance(scale, torch.Tensor) else op.default
    return call(input, scale, zero_point, *RANGES.get(input.dtype, (0, 0)), input.dtype)


def quantize_per_channel(input, scales, zero_points=None, *, axis, quant_min, quant_max, dtype):
    # PyTorch has no default here.
    if zero_points is None:
        zero_points = torch.zeros(scales.shape, dtype=torch.int64)
    return Q.quantize_per_channel(input, scales, zero_points, axis, quant_min, quant_max, dtype)


def dequantize_per_channel(input, scales, zero_points=None, *, axis):
    return Q.dequantize_per_channel(input, scales, zero_points, axis, *RANGES[input.dtype], input.dtype)


def choose_qparams(input, *, quant_min, quant_max, eps=torch.finfo(F32).eps):
    # The element type matters to symmetric ranges only.
    scale, zero_point = Q.choose_qparams.tensor(input, quant_min, quant_max, eps, U8)
    return scale.to(F32), zero_point


def range_of(dtype):
    quant_min, quant_max = RANGES[dtype]
    return {"quant_min": quant_min, "quant_max": quant_max, "dtype": dtype}


def rows(table):
    per_tensor(table)
    per_channel(table)
    fake(table)
    choose(table)


def per_tensor(table):
    op = table.op("quantize_per_tensor", quantize_per_tensor)
    d = op.draw
    ties = torch.arange(-7, 8) * 0.25
    op("unsigned", d.f(3, 4), 0.013, 120, **range_of(U8))
    op("signed", d.f(2, 3, 4), 0.02, -7, **range_of(I8))
    op("ints", d.f(5), 1e-4, 3, **range_of(I32))
    op("ties to even", ties, 0.5, 0, **range_of(I8))
    op("ties with an odd zero point", ties, 0.5, 101, **range_of(U8))
    op("out of range", d.f(4, 5, low=-100.0, high=100.0), 0.1, 128, **range_of(U8))
    op("narrow range", d.f(4, 5), 0.01, -3, quant_min=-127, quant_max=100, dtype=I8)
    op("four bits", d.f(4, 5), 0.3, 7, quant_min=0, quant_max=15, dtype=U8)
    op("not finite", torch.tensor([NAN, INF, -INF, -0.0]), 0.1, 3, **range_of(U8))
    op("not finite, signed", torch.tensor([NAN, INF, -INF, -0.0]), 0.1, -3, **range_of(I8))
    op("zero point out of range", d.f(6), 0.1, 300, **range_of(U8))
    op("transposed", d.f(3, 4).t(), 0.02, 5, **range_of(I8))
    op("empty", d.f(0, 3), 0.1, 0, **range_of(U8))
    op("number", d.f(), 0.1, 0, **range_of(I8))
    op("many", d.f(90, 70), 0.017, 115, **range_of(U8))
    op("half", d.f(7, dtype=F16), 0.02, 0, **range_of(I8))
    op("bfloat", d.f(7, dtype=BF16), 0.02, 0, **range_of(I8))
    op("tensors", d.f(3, 4), torch.tensor([0.017]), torch.tensor([113]), **range_of(U8))
    op("tensors of double and int", d.f(3, 4), torch.tensor(0.1, dtype=F64), torch.tensor(-4, dtype=I32), **range_of(I8))
    op.error("double", d.f(3, dtype=F64), 0.1, 0, **range_of(U8))
    op.error("input of ints", d.i(3), 0.1, 0, **range_of(U8))
    op.error("to floats", d.f(3), 0.1, 0, quant_min=0, quant_max=255, dtype=F32)
    op.error("to bool", d.f(3), 0.1, 0, quant_min=0, quant_max=1, dtype=torch.bool)
    op.error("too large for the type", d.f(3), 0.1, 0, quant_min=0, quant_max=256, dtype=U8)
    op.error("too small for the type", d.f(3), 0.1, 0, quant_min=-1, quant_max=255, dtype=U8)
    op.error("scale of 0", d.f(3), 0.0, 0, **range_of(U8))
    op.error("scale tensor of 0", d.f(3), torch.tensor([0.0]), torch.tensor([0]), **range_of(U8))
    op.error("many scales", d.f(3), torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0]), **range_of(U8))
    op.error("many zero points", d.f(3), torch.tensor([0.1]), torch.tensor([0, 0]), **range_of(U8))
    op.error("zero point with a fraction", d.f(3), 0.1, 0.5, **range_of(U8))

    op = table.op("dequantize_per_tensor", dequantize_per_tensor)
    d = op.draw
    op("unsigned", d.i(3, 4, low=0, high=256, dtype=U8), 0.013, 120)
    op("signed", d.i(2, 3, 4, low=-128, high=128, dtype=I8), 0.02, -7)
    op("ints", d.i(5, low=-100000, high=100000, dtype=I32), 1e-4, 3)
    op("tensors", d.i(3, 4, low=0, high=256, dtype=U8), torch.tensor([0.017]), torch.tensor([113]))
    op("transposed", d.i(3, 4, dtype=I8).t(), 0.5, 1)
    op("empty", d.i(0, 2, dtype=I8), 0.5, 1)
    op("many", d.i(90, 70, low=-128, high=128, dtype=I8), 0.1, 4)
    op.error("floats", d.f(3), 0.1, 0)
    op.error("longs", d.i(3), 0.1, 0)
    op.error("many scales", d.i(3, dtype=I8), torch.tensor([0.1, 0.2]), torch.tensor([0]))


def per_channel(table):
    op = table.op("quantize_per_channel", quantize_per_channel)
    d = op.draw
    scales = torch.tensor([0.01, 0.2, 0.033])
    points = torch.tensor([-5, 0, 99])
    op("first", d.f(3, 4), scales, points, axis=0, **range_of(I8))
    op("no zero points", d.f(3, 2, 2, 2), scales, axis=0, **range_of(I8))
    op("middle", d.f(2, 3, 4), scales, points, axis=1, **range_of(I8))
    op("last", d.f(4, 3), scales, points, axis=-1, **range_of(I8))
    op("from the end", d.f(2, 3, 4), scales, points, axis=-2, **range_of(I8))
    op("unsigned", d.f(3, 4), scales, torch.tensor([128, 0, 255], dtype=I32), axis=0, **range_of(U8))
    op("ints", d.f(3, 4), scales, axis=0, **range_of(I32))
    op("ties to even", torch.arange(-6, 6).reshape(3, 4) * 0.25, torch.tensor([0.5, 0.25, 1.0]), axis=0, **range_of(I8))
    op("not finite", torch.tensor([[NAN, INF, -INF]] * 3), scales, axis=0, **range_of(I8))
    op("one dimension", d.f(3), scales, points, axis=0, **range_of(I8))
    op("no channels", d.f(0, 3), scales[:0], axis=0, **range_of(I8))
    op("empty", d.f(3, 0), scales, axis=0, **range_of(I8))
    op("half", d.f(3, 4, dtype=F16), scales, axis=0, **range_of(I8))
    op.error("axis", d.f(3, 4), scales, axis=2, **range_of(I8))
    op.error("double", d.f(3, 4, dtype=F64), scales, axis=0, **range_of(I8))
    op.error("scales", d.f(4, 4), scales, axis=0, **range_of(I8))
    op.error("zero points", d.f(3, 4), scales, points[:2], axis=0, **range_of(I8))
    op.error("range", d.f(3, 4), scales, axis=0, quant_min=-129, quant_max=127, dtype=I8)

    op = table.op("dequantize_per_channel", dequantize_per_channel)
    d = op.draw
    op("first", d.i(3, 4, dtype=I8), scales, points, axis=0)
    op("no zero points", d.i(3, 2, 2, 2, low=-128, high=128, dtype=I8), scales, axis=0)
    op("middle", d.i(2, 3, 4, dtype=I8), scales, points, axis=1)
    op("from the end", d.i(4, 3, dtype=I8), scales, points, axis=-1)
    op("unsigned", d.i(3, 4, low=0, high=256, dtype=U8), scales, points, axis=0)
    op("ints", d.i(3, 4, low=-9999, high=9999, dtype=I32), scales, points, axis=0)
    op("empty", d.i(3, 0, dtype=I8), scales, axis=0)
    op.error("axis", d.i(3, 4, dtype=I8), scales, axis=2)
    op.error("scales", d.i(4, 4, dtype=I8), scales, axis=0)


def fake(table):
    op = table.op("fake_quantize_per_tensor_affine", torch.fake_quantize_per_tensor_affine)
    d = op.draw
    wide = {"quant_min": 0, "quant_max": 255}
    op("unsigned", d.f(3, 4), 0.013, 120, **wide)
    op("signed", d.f(2, 3, 4), 0.02, -7, quant_min=-128, quant_max=127)
    op("out of range", d.f(4, 5, low=-100.0, high=100.0), 0.1, 128, **wide)
    op("ties to even", torch.arange(-7, 8) * 0.25, 0.5, 1, quant_min=-128, quant_max=127)
    op("not finite", torch.tensor([NAN, INF, -INF, -0.0]), 0.1, 3, **wide)
    op("four bits", d.f(4, 5), 0.3, 7, quant_min=0, quant_max=15)
    op("tensors", d.f(3, 4), torch.tensor([0.017]), torch.tensor([113], dtype=I32), **wide)
    op("transposed", d.f(3, 4).t(), 0.02, 5, **wide)
    op("empty", d.f(0, 3), 0.1, 0, **wide)
    op.error("zero point out of range", d.f(3), 0.1, 300, **wide)
    op.error("range", d.f(3), 0.1, 3, quant_min=5, quant_max=1)
    op.error("ints", d.i(3), 0.1, 0, **wide)


def choose(table):
    op = table.op("choose_qparams", choose_qparams)
    d = op.draw
    wide = {"quant_min": 0, "quant_max": 255}
    op("both signs", d.f(3, 4), **wide)
    op("signed", d.f(3, 4), quant_min=-128, quant_max=127)
    op("positive", d.positive(3, 4), **wide)
    op("negative", -d.positive(3, 4), **wide)
    op("asymmetric", d.f(5, 5, low=-0.3, high=7.0), quant_min=-127, quant_max=127)
    op("one element", torch.tensor(-2.5), **wide)
    op("zeros", torch.zeros(2, 2), **wide)
    op("least scale", d.f(3) * 1e-9, **wide)
    op("eps", d.f(3, 4), **wide, eps=0.5)
    op("transposed", d.f(3, 4).t(), **wide)
    op("many", d.f(90, 70), **wide)
    op("nan", torch.tensor([1.0, NAN, -1.0]), **wide)
    op("infinite", torch.tensor([1.0, INF, -1.0]), **wide)
    op.error("empty", d.f(0, 3), **wide)
    op.error("double", d.f(3, dtype=F64), **wide)
    op.error("range", d.f(3), quant_min=5, quant_max=1)
    op.error("range without 0", d.f(3), quant_min=5, quant_max=10)
