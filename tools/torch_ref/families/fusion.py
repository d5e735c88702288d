"""Products with what follows them, as PyTorch computes the parts in a row."""

import torch
import torch.nn.functional as F

F16, F64 = torch.float16, torch.float64

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


def linear_pointwise(input, weight, bias=None, other=None, *, attr="none"):
    return finish(F.linear(input, weight, bias), other, attr)


def rows(table):
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
