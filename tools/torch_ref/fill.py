"""Deterministic weights and inputs, the same in Python and in Rust (tests/support/fill.rs).

A tensor's name is hashed (FNV-1a, 64 bits), the hash seeds splitmix64, and the upper 24 bits of each number give
u in [-1, 1). What u is scaled to depends on the name and the shape, so that activations stay in range.
"""

import numpy as np
import torch

MASK = (1 << 64) - 1


def seed(name):
    """FNV-1a of the name."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def bits(name, count):
    """`count` numbers of splitmix64."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed(name)) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def unit(name, count):
    """Numbers in [-1, 1)."""
    return (bits(name, count) >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0


def floats(name, shape):
    """An input of floats in [-1, 1)."""
    return torch.from_numpy(unit(name, int(np.prod(shape))).astype(np.float32).reshape(shape))


def integers(name, shape, below):
    """An input of integers in 0..below."""
    return torch.from_numpy((bits(name, int(np.prod(shape))) % np.uint64(below)).astype(np.int64).reshape(shape))


def parameter(name, shape):
    """A parameter or buffer of a model."""
    u = unit(name, int(np.prod(shape)))
    if name.endswith("running_var"):
        value = 1.0 + 0.5 * u
    elif len(shape) <= 1 and name.endswith("weight"):
        value = 1.0 + 0.1 * u
    elif len(shape) <= 1:
        value = 0.1 * u
    else:
        value = u * np.sqrt(3.0 / np.prod(shape[1:]))
    return torch.from_numpy(value.astype(np.float32).reshape(shape))


def fill(module):
    """Fills all parameters and buffers of a module; gives their names and shapes."""
    entries = []
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if name.endswith("num_batches_tracked"):
                continue
            entries.append([name, list(tensor.shape)])
            tensor.copy_(parameter(name, list(tensor.shape)))
    return entries
