"""Normalisation."""

import torch
import torch.nn.functional as F

F16, F64 = torch.float16, torch.float64


def rows(table):
    batch(table)
    layer(table)
    group(table)
    instance(table)
    others(table)


def keep(statistics):
    """A copy, as PyTorch writes running statistics in place."""
    return None if statistics is None else statistics.clone()


def batch(table):
    def call(x, mean, var, weight, bias, **kwargs):
        return F.batch_norm(x, keep(mean), keep(var), weight, bias, **kwargs)

    op = table.op("batch_norm", call)
    d = op.draw
    mean, var = d.f(3), d.positive(3)
    op("running", d.f(2, 3), mean, var, None, None)
    op("affine", d.f(2, 3, 2, 2), mean, var, d.f(3), d.f(3))
    op("weight only", d.f(2, 3, 2), mean, var, d.f(3), None)
    op("training", d.f(4, 3), mean, var, d.f(3), d.f(3), training=True)
    op("training images", d.f(2, 3, 2, 2), None, None, None, None, training=True)
    op("momentum", d.f(4, 3), mean, var, None, None, training=True, momentum=0.5)
    op("eps", d.f(2, 3), mean, var, None, None, eps=0.1)
    op("double", d.f(2, 3, dtype=F64), mean.double(), var.double(), None, None)
    op("half", d.f(4, 3, dtype=F16), mean.half(), var.half(), None, None)
    op.error("no statistics", d.f(2, 3), None, None, None, None)
    op.error("channels", d.f(2, 4), mean, var, None, None)
    op.error("one value", d.f(1, 3), mean, var, None, None, training=True)
    op.error("weight", d.f(2, 3), mean, var, d.f(2), None)


def layer(table):
    def call(x, weight, bias, normalized_shape, **kwargs):
        return F.layer_norm(x, normalized_shape, weight, bias, **kwargs)

    op = table.op("layer_norm", call)
    d = op.draw
    op("last", d.f(2, 5), None, None, normalized_shape=(5,))
    op("affine", d.f(2, 5), d.f(5), d.f(5), normalized_shape=(5,))
    op("weight only", d.f(2, 5), d.f(5), None, normalized_shape=(5,))
    op("two dims", d.f(2, 3, 4), d.f(3, 4), d.f(3, 4), normalized_shape=(3, 4))
    op("eps", d.f(2, 5), None, None, normalized_shape=(5,), eps=0.1)
    op("offset", d.f(2, 5) + 100.0, None, None, normalized_shape=(5,))
    op("double", d.f(2, 5, dtype=F64), None, None, normalized_shape=(5,))
    op("half", d.f(2, 5, dtype=F16), d.f(5, dtype=F16), d.f(5, dtype=F16), normalized_shape=(5,))
    op("empty batch", d.f(0, 5), None, None, normalized_shape=(5,))
    op.error("shape", d.f(2, 5), None, None, normalized_shape=(4,))
    op.error("weight", d.f(2, 5), d.f(4), None, normalized_shape=(5,))


def group(table):
    def call(x, weight, bias, num_groups, **kwargs):
        return F.group_norm(x, num_groups, weight, bias, **kwargs)

    op = table.op("group_norm", call)
    d = op.draw
    op("two groups", d.f(2, 4, 3), None, None, num_groups=2)
    op("affine", d.f(1, 4, 2, 2), d.f(4), d.f(4), num_groups=2)
    op("one group", d.f(2, 3, 2), d.f(3), None, num_groups=1)
    op("each channel", d.f(1, 3, 4), None, None, num_groups=3)
    op("matrix", d.f(2, 4), None, None, num_groups=2)
    op("eps", d.f(2, 4, 3), None, None, num_groups=2, eps=0.1)
    op("double", d.f(1, 4, 3, dtype=F64), None, None, num_groups=2)
    op("half", d.f(1, 4, 3, dtype=F16), d.f(4, dtype=F16), d.f(4, dtype=F16), num_groups=2)
    op.error("groups", d.f(1, 4, 3), None, None, num_groups=3)
    op.error("weight", d.f(1, 4, 3), d.f(3), None, num_groups=2)


def instance(table):
    def call(x, mean, var, weight, bias, **kwargs):
        return F.instance_norm(x, keep(mean), keep(var), weight, bias, **kwargs)

    op = table.op("instance_norm", call)
    d = op.draw
    op("plain", d.f(2, 3, 4), None, None, None, None)
    op("affine", d.f(1, 3, 2, 2), None, None, d.f(3), d.f(3))
    op("running", d.f(2, 3, 4), d.f(3), d.positive(3), d.f(3), None, use_input_stats=False)
    op("statistics unused", d.f(2, 3, 4), d.f(3), d.positive(3), None, None)
    op("momentum", d.f(2, 3, 4), d.f(3), d.positive(3), None, None, momentum=0.5)
    op("eps", d.f(2, 3, 4), None, None, None, None, eps=0.1)
    op("double", d.f(1, 2, 4, dtype=F64), None, None, None, None)
    op.error("one value", d.f(2, 3, 1), None, None, None, None)
    op.error("no statistics", d.f(2, 3, 4), None, None, None, None, use_input_stats=False)


def others(table):
    def rms(x, weight, normalized_shape, eps=None):
        return F.rms_norm(x, normalized_shape, weight, eps)

    op = table.op("rms_norm", rms)
    d = op.draw
    op("plain", d.f(2, 5), None, normalized_shape=(5,))
    op("weight", d.f(2, 5), d.f(5), normalized_shape=(5,))
    op("two dims", d.f(2, 3, 4), d.f(3, 4), normalized_shape=(3, 4))
    op("eps", d.f(2, 5), None, normalized_shape=(5,), eps=0.5)
    op("zeros", torch.zeros(2, 3), None, normalized_shape=(3,))
    op("double", d.f(2, 5, dtype=F64), None, normalized_shape=(5,))
    op("half", d.f(2, 5, dtype=F16), d.f(5, dtype=F16), normalized_shape=(5,))
    op.error("shape", d.f(2, 5), None, normalized_shape=(4,))
    op.error("weight shape", d.f(2, 5), d.f(4), normalized_shape=(5,))

    op = table.op("local_response_norm", F.local_response_norm)
    d = op.draw
    op("odd", d.f(1, 5, 2, 2), size=3)
    op("even", d.f(1, 5, 3), size=2)
    op("attributes", d.f(2, 4, 3), size=3, alpha=0.5, beta=0.5, k=2.0)
    op("alpha", d.f(2, 4, 3), size=5, alpha=1.0)
    op("large", d.f(1, 3, 2), size=7, alpha=1.0)
    op("double", d.f(1, 4, 2, dtype=F64), size=3)
    op.error("rank", d.f(2, 3), size=3)
