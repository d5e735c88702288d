"""Products with what follows them, as PyTorch computes the parts in a row."""

import torch
import torch.nn.functional as F

from . import quantize

F16, F64, I8 = torch.float16, torch.float64, torch.int8
U8_RANGE, I8_RANGE = {"quant_min": 0, "quant_max": 255}, {"quant_min": -128, "quant_max": 127}

ATTRS = {
    "none": lambda x: x,
    "relu": F.relu,
    "relu6": F.relu6,
    "clamp[-0.5, 0.5]": lambda x: x.clamp(-0.5, 0.5),
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "selu": F.selu,
    "elu[0.5]": lambda x: F.elu(x, 0.5),
    "leaky_relu[0.1]": lambda x: F.leaky_relu(x, 0.1),
    "hardswish": F.hardswish,
}


def finish(product, other, attr):
    return ATTRS[attr](product if other is None else product + other)


def conv2d_pointwise(input, weight, bias=None, other=None, *, attr="none", **options):
    return finish(F.conv2d(input, weight, bias, **options), other, attr)


def conv1d_pointwise(input, weight, bias=None, other=None, *, attr="none", **options):
    return finish(F.conv1d(input, weight, bias, **options), other, attr)


def conv3d_pointwise(input, weight, bias=None, other=None, *, attr="none", **options):
    return finish(F.conv3d(input, weight, bias, **options), other, attr)


def linear_pointwise(input, weight, bias=None, other=None, *, attr="none"):
    return finish(F.linear(input, weight, bias), other, attr)


def rounded(input, scale, zero_point, quant_min, quant_max):
    """What quantizing and dequantizing makes of a tensor, with a scale that is given or chosen."""
    bounds = {"quant_min": quant_min, "quant_max": quant_max}
    if scale is None:
        scale, zero_point = quantize.choose_qparams(input, **bounds)
    dtype = I8 if quant_min < 0 else torch.uint8
    integers = quantize.quantize_per_tensor(input, scale, zero_point, **bounds, dtype=dtype)
    return quantize.dequantize_per_tensor(integers, scale, zero_point)


def added(other, scale, zero_point, quant_min, quant_max):
    """What is added, quantized and dequantized where there is a scale for that."""
    return other if other is None or scale is None else rounded(other, scale, zero_point, quant_min, quant_max)


def dequantized(weight, scale, axis=0):
    if weight.dtype != I8:
        raise ValueError("the weight must be in i8")
    return quantize.dequantize_per_channel(weight, scale, axis=axis)


def qconv2d_pointwise(
    input, weight, weight_scale, bias=None, other=None, *, quant_min, quant_max, scale=None, zero_point=0, attr="none",
    other_scale=None, other_zero_point=0, other_quant_min=0, other_quant_max=255, **options
):
    x = rounded(input, scale, zero_point, quant_min, quant_max)
    other = added(other, other_scale, other_zero_point, other_quant_min, other_quant_max)
    return conv2d_pointwise(x, dequantized(weight, weight_scale), bias, other, attr=attr, **options)


def qconv1d_pointwise(
    input, weight, weight_scale, bias=None, other=None, *, quant_min, quant_max, scale=None, zero_point=0, attr="none",
    other_scale=None, other_zero_point=0, other_quant_min=0, other_quant_max=255, **options
):
    x = rounded(input, scale, zero_point, quant_min, quant_max)
    other = added(other, other_scale, other_zero_point, other_quant_min, other_quant_max)
    return conv1d_pointwise(x, dequantized(weight, weight_scale), bias, other, attr=attr, **options)


def qconv3d_pointwise(
    input, weight, weight_scale, bias=None, other=None, *, quant_min, quant_max, scale=None, zero_point=0, attr="none",
    other_scale=None, other_zero_point=0, other_quant_min=0, other_quant_max=255, **options
):
    x = rounded(input, scale, zero_point, quant_min, quant_max)
    other = added(other, other_scale, other_zero_point, other_quant_min, other_quant_max)
    return conv3d_pointwise(x, dequantized(weight, weight_scale), bias, other, attr=attr, **options)


def qconv_transpose2d(
    input, weight, weight_scale, bias=None, *, quant_min, quant_max, scale=None, zero_point=0, **options
):
    x = rounded(input, scale, zero_point, quant_min, quant_max)
    return F.conv_transpose2d(x, dequantized(weight, weight_scale, axis=1), bias, **options)


def qconv_transpose1d(
    input, weight, weight_scale, bias=None, *, quant_min, quant_max, scale=None, zero_point=0, **options
):
    x = rounded(input, scale, zero_point, quant_min, quant_max)
    return F.conv_transpose1d(x, dequantized(weight, weight_scale, axis=1), bias, **options)


def qlinear_pointwise(
    input, weight, weight_scale, bias=None, other=None, *, quant_min, quant_max, scale=None, zero_point=0, attr="none",
    other_scale=None, other_zero_point=0, other_quant_min=0, other_quant_max=255
):
    x = rounded(input, scale, zero_point, quant_min, quant_max)
    other = added(other, other_scale, other_zero_point, other_quant_min, other_quant_max)
    return linear_pointwise(x, dequantized(weight, weight_scale), bias, other, attr=attr)


def rows(table):
    floats(table)
    integers(table)


def floats(table):
    op = table.op("conv2d_pointwise", conv2d_pointwise)
    d = op.draw
    x, weight, bias = d.f(2, 3, 5, 5), d.f(4, 3, 3, 3), d.f(4)
    for attr in ATTRS:
        op(attr, x, weight, bias, attr=attr)
    op("sum", x, weight, bias, d.f(2, 4, 3, 3))
    op("sum and relu", x, weight, bias, d.f(2, 4, 5, 5), padding=[1, 1], attr="relu")
    op("no bias", x, weight, None, d.f(2, 4, 2, 2), stride=[2, 2], attr="relu")
    op("groups", d.f(1, 4, 5, 5), d.f(4, 1, 3, 3), bias, d.f(1, 4, 5, 5), padding=[1, 1], groups=4, attr="relu6")
    op("broadcast", x, weight, bias, d.f(4, 1, 1), attr="relu")
    op("dilation", d.f(1, 3, 7, 6), weight, bias, None, dilation=[2, 1], attr="silu")
    op("double", d.f(1, 3, 5, 5, dtype=F64), d.f(4, 3, 3, 3, dtype=F64), d.f(4, dtype=F64), attr="gelu")
    op("half", d.f(1, 3, 5, 5, dtype=F16), d.f(4, 3, 3, 3, dtype=F16), d.f(4, dtype=F16), attr="relu")
    op.error("shapes", x, weight, bias, d.f(2, 4, 4, 4))
    op.error("channels", d.f(2, 4, 5, 5), weight, bias)
    op = table.op("conv1d_pointwise", conv1d_pointwise)
    d = op.draw
    x, weight, bias = d.f(2, 3, 6), d.f(4, 3, 3), d.f(4)
    for attr in ["none", "relu", "leaky_relu[0.1]"]:
        op(attr, x, weight, bias, attr=attr)
    op("sum", x, weight, bias, d.f(2, 4, 4))
    op("sum and relu", x, weight, bias, d.f(2, 4, 6), padding=[1], attr="relu")
    op("no bias", x, weight, None, d.f(2, 4, 3), stride=[2], padding=[1], attr="silu")
    op("groups", d.f(1, 4, 7), d.f(4, 1, 3), bias, d.f(1, 4, 7), padding=[1], groups=4, attr="relu6")
    op("broadcast", x, weight, bias, d.f(4, 1), padding="same", attr="relu")
    op("dilation", d.f(1, 3, 9), weight, bias, d.f(1, 4, 5), dilation=[2], attr="tanh")
    op("single pixels", d.f(2, 20, 5), d.f(6, 20, 1), d.f(6), d.f(2, 6, 5))
    op("double", d.f(1, 2, 5, dtype=F64), d.f(2, 2, 2, dtype=F64), None, attr="gelu")
    op("half", d.f(1, 3, 5, dtype=F16), d.f(4, 3, 3, dtype=F16), d.f(4, dtype=F16), attr="relu")
    op.error("shapes", x, weight, bias, d.f(2, 4, 5))
    op.error("channels", d.f(2, 4, 6), weight, bias)
    op = table.op("conv3d_pointwise", conv3d_pointwise)
    d = op.draw
    x, weight, bias = d.f(1, 3, 4, 5, 4), d.f(4, 3, 3, 3, 3), d.f(4)
    for attr in ["none", "relu", "leaky_relu[0.1]"]:
        op(attr, x, weight, bias, attr=attr)
    op("sum", x, weight, bias, d.f(1, 4, 2, 3, 2))
    op("sum and relu", x, weight, bias, d.f(1, 4, 4, 5, 4), padding=[1, 1, 1], attr="relu")
    op("no bias", x, weight, None, d.f(1, 4, 1, 3, 2), stride=[2, 1, 2], padding=[0, 0, 1], attr="silu")
    op("groups", d.f(2, 4, 3, 3, 4), d.f(4, 1, 1, 3, 3), bias, d.f(2, 4, 3, 3, 4), padding=[0, 1, 1], groups=4, attr="relu6")
    op("broadcast", x, weight, bias, d.f(4, 1, 1, 1), padding="same", attr="relu")
    op("dilation", d.f(1, 3, 6, 5, 3), weight, bias, None, dilation=[2, 1, 1], attr="relu")
    op("double", d.f(1, 2, 3, 3, 3, dtype=F64), d.f(2, 2, 2, 2, 2, dtype=F64), None, attr="gelu")
    op.error("shapes", x, weight, bias, d.f(1, 4, 4, 4, 4))
    op.error("channels", d.f(1, 4, 4, 5, 4), weight, bias)
    op = table.op("linear_pointwise", linear_pointwise)
    d = op.draw
    x, weight, bias = d.f(2, 3, 5), d.f(4, 5), d.f(4)
    for attr in ATTRS:
        op(attr, x, weight, bias, attr=attr)
    op("sum", x, weight, bias, d.f(2, 3, 4))
    op("no bias", x, weight, None, d.f(2, 3, 4), attr="relu")
    op("row", d.f(5), weight, bias, None, attr="gelu")
    op("broadcast", x, weight, bias, d.f(4), attr="relu")
    op("many rows", d.f(40, 5), weight, bias, d.f(40, 4), attr="gelu_tanh")
    op("double", d.f(2, 5, dtype=F64), d.f(4, 5, dtype=F64), None, attr="tanh")
    op.error("shapes", x, weight, bias, d.f(2, 2, 4))
    op.error("features", d.f(2, 4), weight, bias)


def integers(table):
    op = table.op("qconv2d_pointwise", qconv2d_pointwise)
    d = op.draw
    weights = lambda *shape: d.i(*shape, low=-128, high=128, dtype=I8)
    u8 = {**U8_RANGE, "scale": 0.017, "zero_point": 113}
    i8 = {**I8_RANGE, "scale": 0.021, "zero_point": -9}
    other = {"other_scale": 0.03, "other_zero_point": 90}
    signed = {"other_scale": 0.02, "other_zero_point": -7, "other_quant_min": -128, "other_quant_max": 127}
    # Channels in fours for products of integers, and not.
    x, weight, scales, bias = d.f(1, 20, 4, 5), weights(3, 20, 3, 3), d.positive(3) / 500, d.f(3)
    op("unsigned", x, weight, scales, bias, **u8)
    op("signed", x, weight, scales, bias, None, **i8, padding=[1, 1], attr="relu")
    op("chosen", x, weight, scales, bias, **U8_RANGE, stride=[2, 2], padding=[1, 0], attr="silu")
    op("seven bits", x, weight, scales, None, quant_min=0, quant_max=127, scale=0.04, zero_point=50)
    op("sum", x, weight, scales, bias, d.f(1, 3, 4, 5), **u8, padding=[1, 1], attr="relu")
    op("dilation", x, weight, scales, bias, d.f(3, 1, 1), **u8, padding=[2, 1], dilation=[2, 1])
    op("groups", d.f(1, 40, 3, 4), weights(4, 20, 3, 3), d.positive(4) / 500, d.f(4), **u8, groups=2, padding=[1, 1])
    op("depthwise", d.f(1, 6, 5, 5), weights(6, 1, 3, 3), d.positive(6) / 500, None, **i8, groups=6, attr="relu6")
    op("few channels", d.f(1, 3, 9, 8), weights(4, 3, 3, 3), d.positive(4) / 500, d.f(4), **u8, stride=[2, 2])
    op("single pixels", d.f(2, 32, 2, 3), weights(9, 32, 1, 1), d.positive(9) / 500, d.f(9), **u8, attr="hardswish")
    op("not in fours", d.f(1, 18, 3, 4), weights(2, 18, 3, 3), d.positive(2) / 500, None, **u8)
    op("half", d.f(1, 3, 5, 5, dtype=F16), weights(2, 3, 3, 3), d.positive(2) / 500, None, **u8)
    op.error("floats", x, d.f(3, 20, 3, 3), scales, bias, **u8)
    op.error("scales", x, weight, d.positive(2), bias, **u8)
    op.error("channels", d.f(1, 19, 4, 5), weight, scales, bias, **u8)
    op("quantized sum", x, weight, scales, bias, d.f(1, 3, 4, 5), **u8, **other, padding=[1, 1], attr="relu")
    op("quantized sum that repeats", x, weight, scales, bias, d.f(3, 1, 1), **i8, **signed)
    of_four = weights(4, 20, 1, 1), d.positive(4) / 500, d.f(4), d.f(1, 4, 4, 5)
    op("quantized sum of single pixels", x, *of_four, **u8, **signed)
    op = table.op("qconv1d_pointwise", qconv1d_pointwise)
    d = op.draw
    weights = lambda *shape: d.i(*shape, low=-128, high=128, dtype=I8)
    x, weight, scales, bias = d.f(2, 12, 6), weights(3, 12, 3), d.positive(3) / 500, d.f(3)
    op("unsigned", x, weight, scales, bias, **u8)
    op("signed", x, weight, scales, bias, None, **i8, padding=[1], attr="relu")
    op("chosen", x, weight, scales, bias, **U8_RANGE, stride=[2], padding=[2], attr="silu")
    op("seven bits", x, weight, scales, None, quant_min=0, quant_max=127, scale=0.04, zero_point=50)
    op("sum", x, weight, scales, bias, d.f(2, 3, 6), **u8, padding="same", attr="relu")
    op("dilation", x, weight, scales, bias, d.f(3, 1), **u8, padding=[1], dilation=[2])
    op("groups", d.f(1, 24, 5), weights(4, 12, 3), d.positive(4) / 500, d.f(4), **u8, groups=2, padding=[1])
    op("depthwise", d.f(1, 6, 9), weights(6, 1, 3), d.positive(6) / 500, None, **i8, groups=6, attr="relu6")
    op("few channels", d.f(1, 2, 20), weights(4, 2, 5), d.positive(4) / 500, d.f(4), **u8, stride=[2])
    op("single pixels", d.f(2, 20, 2), weights(5, 20, 1), d.positive(5) / 500, d.f(5), **u8, attr="hardswish")
    op("half", d.f(1, 3, 5, dtype=F16), weights(2, 3, 3), d.positive(2) / 500, None, **u8)
    op.error("floats", x, d.f(3, 12, 3), scales, bias, **u8)
    op.error("channels", d.f(1, 11, 5), weight, scales, bias, **u8)
    op.error("dimensions", d.f(1, 12, 5, 5), weight, scales, bias, **u8)
    op("quantized sum", x, weight, scales, bias, d.f(2, 3, 6), **u8, **other, padding="same", attr="relu")
    op = table.op("qconv3d_pointwise", qconv3d_pointwise)
    d = op.draw
    weights = lambda *shape: d.i(*shape, low=-128, high=128, dtype=I8)
    x, weight, scales, bias = d.f(1, 20, 3, 3, 3), weights(3, 20, 2, 3, 3), d.positive(3) / 500, d.f(3)
    op("unsigned", x, weight, scales, bias, **u8)
    op("signed", x, weight, scales, bias, None, **i8, padding=[1, 1, 1], attr="relu")
    op("chosen", x, weight, scales, bias, **U8_RANGE, stride=[2, 2, 1], padding=[1, 1, 0], attr="silu")
    op("seven bits", x, weight, scales, None, quant_min=0, quant_max=127, scale=0.04, zero_point=50)
    op("sum", x, weight, scales, bias, d.f(1, 3, 3, 3, 3), **u8, padding="same", attr="relu")
    op("dilation", x, weight, scales, bias, d.f(3, 1, 1, 1), **u8, padding=[1, 1, 2], dilation=[2, 1, 2])
    op("groups", d.f(1, 40, 2, 3, 2), weights(4, 20, 1, 3, 3), d.positive(4) / 500, d.f(4), **u8, groups=2, padding=[0, 1, 1])
    op("depthwise", d.f(1, 6, 3, 4, 3), weights(6, 1, 3, 3, 3), d.positive(6) / 500, None, **i8, groups=6, padding=[1, 1, 1], attr="relu6")
    op("few channels", d.f(1, 3, 4, 6, 5), weights(4, 3, 3, 3, 3), d.positive(4) / 500, d.f(4), **u8, stride=[1, 2, 2], padding=[1, 1, 1])
    op("single voxels", d.f(2, 32, 2, 2, 1), weights(5, 32, 1, 1, 1), d.positive(5) / 500, d.f(5), **u8, attr="hardswish")
    op("not in fours", d.f(1, 6, 2, 3, 3), weights(2, 6, 2, 3, 3), d.positive(2) / 500, None, **u8)
    op.error("floats", x, d.f(3, 20, 2, 3, 3), scales, bias, **u8)
    op.error("scales", x, weight, d.positive(2), bias, **u8)
    op.error("dimensions", d.f(1, 20, 3, 3), weight, scales, bias, **u8)
    op("quantized sum", x, weight, scales, bias, d.f(1, 3, 3, 3, 3), **u8, **signed, padding="same", attr="relu")
    op = table.op("qconv_transpose2d", qconv_transpose2d)
    d = op.draw
    weights = lambda *shape: d.i(*shape, low=-128, high=128, dtype=I8)
    x, scales, bias = d.f(2, 12, 3, 4), d.positive(5) / 500, d.f(5)
    op("side by side", x, weights(12, 5, 2, 2), scales, bias, **u8, stride=[2, 2])
    op("signed", x, weights(12, 5, 1, 3), scales, bias, **i8, stride=[1, 3])
    op("chosen", x, weights(12, 5, 2, 3), scales, None, **U8_RANGE, stride=[2, 3])
    op("in lines", x, weights(12, 5, 1, 4), scales, bias, **u8, stride=[1, 2], padding=[0, 1])
    op("overlapping", x, weights(12, 5, 3, 3), scales, bias, **u8, stride=[2, 2], padding=[1, 1], output_padding=[1, 1])
    op("seven bits", x, weights(12, 5, 2, 2), scales, None, quant_min=0, quant_max=127, scale=0.04, zero_point=50, stride=[2, 2])
    op("groups", x, weights(12, 5, 2, 2), scales, d.f(10), **u8, groups=2)
    op("dilation", d.f(1, 3, 4, 4), weights(3, 2, 2, 2), d.positive(2) / 500, d.f(2), **u8, dilation=[2, 1])
    op("half", d.f(1, 4, 2, 3, dtype=F16), weights(4, 2, 2, 2), d.positive(2) / 500, None, **u8, stride=[2, 2])
    op.error("floats", x, d.f(12, 5, 2, 2), scales, bias, **u8)
    op.error("scales", x, weights(12, 5, 2, 2), d.positive(12), bias, **u8)
    op.error("channels", d.f(1, 11, 3, 4), weights(12, 5, 2, 2), scales, bias, **u8)
    op = table.op("qconv_transpose1d", qconv_transpose1d)
    d = op.draw
    weights = lambda *shape: d.i(*shape, low=-128, high=128, dtype=I8)
    x, scales, bias = d.f(2, 8, 7), d.positive(3) / 500, d.f(3)
    op("side by side", x, weights(8, 3, 2), scales, bias, **u8, stride=[2])
    op("overlapping", x, weights(8, 3, 4), scales, bias, **i8, stride=[2], padding=[1])
    op("chosen", x, weights(8, 3, 4), scales, None, **U8_RANGE, stride=[2], padding=[1])
    op("added", x, weights(8, 3, 3), scales, bias, **u8, stride=[2], padding=[1], output_padding=[1])
    op("groups", x, weights(8, 3, 2), scales, d.f(6), **u8, groups=2, stride=[2])
    op("dilation", x, weights(8, 3, 3), scales, bias, **u8, dilation=[2])
    op.error("floats", x, d.f(8, 3, 2), scales, bias, **u8)
    op.error("dimensions", d.f(2, 8, 7, 7), weights(8, 3, 2), scales, bias, **u8)
    op = table.op("qlinear_pointwise", qlinear_pointwise)
    d = op.draw
    weights = lambda *shape: d.i(*shape, low=-128, high=128, dtype=I8)
    x, weight, scales, bias = d.f(2, 3, 24), weights(10, 24), d.positive(10) / 500, d.f(10)
    op("unsigned", x, weight, scales, bias, **u8)
    op("signed", x, weight, scales, bias, None, **i8, attr="gelu")
    op("chosen", x, weight, scales, None, **I8_RANGE)
    op("four bits", x, weight, scales, bias, quant_min=0, quant_max=15, scale=0.3, zero_point=7, attr="tanh")
    op("sum", x, weight, scales, bias, d.f(2, 3, 10), **u8, attr="relu")
    op("row", d.f(24), weight, scales, bias, **u8)
    op("many rows", d.f(20, 24), weight, scales, bias, d.f(20, 10), **u8, attr="gelu_tanh")
    op("not in fours", d.f(2, 6), weights(4, 6), d.positive(4) / 500, None, **u8)
    op("out of range", d.f(3, 24, low=-9.0, high=9.0), weight, scales, None, **u8)
    op.error("features", d.f(2, 3, 23), weight, scales, bias, **u8)
    op.error("other", x, weight, scales, bias, d.f(2, 2, 10), **u8)
    op("quantized sum", x, weight, scales, bias, d.f(2, 3, 10), **u8, **other, attr="relu")
    op("quantized sum that repeats", x, weight, scales, bias, d.f(10), **u8, **signed)
    op.error("quantized other", x, weight, scales, bias, d.f(2, 2, 10), **u8, **other)
