"""Activations."""

import torch
import torch.nn.functional as F

F16, BF16, F64 = torch.float16, torch.bfloat16, torch.float64
NAN, INF = float("nan"), float("inf")


def rows(table):
    pointwise(table)
    with_weights(table)
    along(table)
    dropouts(table)


def common(op):
    """What every activation is tried with."""
    d = op.draw
    op("matrix", d.f(2, 6, low=-7, high=7))
    op("scalar tensor", d.f())
    op("empty", d.f(0, 3))
    op("double", d.f(4, dtype=F64))
    op("half", d.f(5, low=-4, high=4, dtype=F16))
    op("bfloat16", d.f(5, low=-4, high=4, dtype=BF16))
    # PyTorch's gelu of infinity is NaN in its vectorised form of f32 only.
    dtype = F64 if op.name == "gelu" else torch.float32
    op("special", torch.tensor([NAN, INF, -INF, 0.0, 100.0, -100.0], dtype=dtype))


def pointwise(table):
    relu = table.op("relu", F.relu)
    common(relu)
    relu("ints", relu.draw.i(2, 3))
    relu.error("bools", relu.draw.b(3))
    relu6 = table.op("relu6", F.relu6)
    common(relu6)
    relu6("ints", relu6.draw.i(2, 3, low=-9, high=10))
    relu6.error("bools", relu6.draw.b(3))

    for name, attributes in {
        "elu": {"alpha": 0.5},
        "celu": {"alpha": 1.5},
        "leaky_relu": {"negative_slope": 0.2},
        "selu": {},
        "gelu": {"approximate": "tanh"},
        "silu": {},
        "mish": {},
        "softplus": {"beta": 2.0, "threshold": 5.0},
        "softsign": {},
        "hardtanh": {"min_val": -0.5, "max_val": 2.0},
        "hardsigmoid": {},
        "hardswish": {},
        "logsigmoid": {},
        "tanhshrink": {},
        "softshrink": {"lambd": 1.0},
        "hardshrink": {"lambd": 1.0},
    }.items():
        op = table.op(name, getattr(F, name))
        common(op)
        x = op.draw.f(3, 4, low=-5, high=5)
        if attributes:
            op("attributes", x, **attributes)
            key, value = next(iter(attributes.items()))
            op("one attribute", x, **{key: value})
        if name in ("softsign", "tanhshrink"):
            op("ints", op.draw.i(4, low=1))
        elif name == "hardtanh":
            op("ints", op.draw.i(6))
        else:
            op.error("ints", op.draw.i(4))
    table.ops["gelu"].error("approximation", torch.zeros(2), approximate="sigmoid")
    table.ops["celu"].error("alpha", torch.zeros(2), alpha=0.0)
    table.ops["softshrink"].error("lambd", torch.zeros(2), lambd=-1.0)

    threshold = table.op("threshold", F.threshold)
    d = threshold.draw
    threshold("matrix", d.f(2, 4), threshold=0.1, value=20.0)
    threshold("negative", d.f(2, 4), threshold=-1.0, value=-1.5)
    threshold("nan", torch.tensor([NAN, INF, -INF, 0.5]), threshold=0.5, value=0.0)
    threshold("half", d.f(5, dtype=F16), threshold=0.25, value=1.0)
    threshold("ints", d.i(5), threshold=1.0, value=0.0)
    threshold("empty", d.f(0), threshold=1.0, value=0.0)


def with_weights(table):
    prelu = table.op("prelu", F.prelu)
    d = prelu.draw
    prelu("one weight", d.f(2, 3), torch.tensor([0.25]))
    prelu("channels", d.f(2, 3, 2), d.f(3))
    prelu("vector", d.f(4), torch.tensor([0.1]))
    prelu("double", d.f(2, 3, dtype=F64), d.f(3, dtype=F64))
    prelu("half", d.f(2, 3, dtype=F16), d.f(3, dtype=F16))
    prelu.error("channel count", d.f(2, 3), d.f(2))
    prelu.error("dtypes", d.f(2, 3), d.f(3, dtype=F64))
    prelu.error("matrix weight", d.f(2, 3), d.f(3, 1))

    glu = table.op("glu", F.glu)
    d = glu.draw
    glu("last", d.f(2, 6))
    glu("first", d.f(4, 3), dim=0)
    glu("negative", d.f(2, 4, 3), dim=-2)
    glu("double", d.f(2, 4, dtype=F64))
    glu("half", d.f(2, 4, dtype=F16))
    glu.error("odd", d.f(2, 3))
    glu.error("scalar tensor", d.f())


def along(table):
    for name in ("softmax", "softmin", "log_softmax"):
        op = table.op(name, getattr(F, name))
        d = op.draw
        op("last", d.f(3, 5), dim=-1)
        op("first", d.f(3, 5), dim=0)
        op("middle", d.f(2, 4, 3), dim=1)
        op("large", d.f(2, 4) * 200, dim=1)
        op("half", d.f(2, 5, dtype=F16), dim=1)
        op("bfloat16", d.f(2, 5, dtype=BF16), dim=1)
        op("double", d.f(4, dtype=F64), dim=0)
        op("scalar tensor", d.f(), dim=0)
        op("empty", d.f(0, 3), dim=1)
        if name != "softmin":
            op("masked", torch.tensor([[0.5, -INF, 1.0], [-INF, -INF, -INF]]), dim=1)
        op.error("dim", d.f(3, 5), dim=2)
        op.error("ints", d.i(3), dim=0)

    normalize = table.op("normalize", F.normalize)
    d = normalize.draw
    normalize("defaults", d.f(3, 4))
    normalize("first", d.f(3, 4), dim=(0,))
    normalize("p", d.f(2, 3, 2), p=1.0)
    normalize("odd p", d.f(2, 4), p=3.0)
    normalize("eps", torch.zeros(2, 3) + 0.01, eps=1.0)
    normalize("two dims", d.f(2, 3, 2), dim=(1, 2))
    normalize("half", d.f(2, 3, dtype=F16))
    normalize("double", d.f(2, 3, dtype=F64), dim=(-1,))
    normalize("zeros", torch.zeros(2, 3))
    normalize("not a number", torch.tensor([[1.0, NAN], [3.0, 4.0]]))
    normalize.error("dim", d.f(3))


def dropouts(table):
    dropout = table.op("dropout", F.dropout)
    channels = table.op("feature_dropout", lambda x, p, training: torch.feature_dropout(x, p, training))
    for op in (dropout, channels):
        d = op.draw
        op("evaluation", d.f(2, 3, 2), p=0.5, training=False)
        op("none", d.f(2, 3, 2), p=0.0, training=True)
        op("all", d.f(2, 3, 2), p=1.0, training=True)
        op.random("training", d.f(2, 3, 4), p=0.3, training=True)
        op.random("half", d.f(2, 3, 4, dtype=F16), p=0.3, training=True)
        op.error("probability", d.f(2, 3), p=1.5, training=True)
