"""Golden files: how samples of an op are drawn, run in PyTorch and written.

A file holds the samples of one op. A sample is a call in canonical form (operands by position, attributes by the
names of the op table, those at their default absent) with what PyTorch gives for it: an output, an error, or, for
random ops, the element type and shape of the output.
"""

import json
import math
import zlib
from pathlib import Path

import torch

SEED = 0

DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}

REFUSALS = (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, AssertionError)


class Draw:
    """Small inputs from a generator of their own, so that one op's samples do not depend on another's."""

    def __init__(self, name):
        self.generator = torch.Generator().manual_seed(SEED + zlib.crc32(name.encode()))

    def f(self, *shape, low=-2.0, high=2.0, dtype=torch.float32):
        """Floats with few digits, none of them whole or a half."""
        steps = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        return ((steps * 50).floor() / 50 + 0.013).to(dtype)

    def positive(self, *shape, dtype=torch.float32):
        """Floats between 0.1 and 3."""
        return self.f(*shape, low=0.1, high=3.0, dtype=dtype)

    def distinct(self, *shape, dtype=torch.float32):
        """Numbers of which no two are equal, in any order."""
        count = math.prod(shape)
        order = torch.randperm(count, generator=self.generator)
        numbers = order - count // 2
        return (numbers * 0.25 + 0.125 if dtype.is_floating_point else numbers).to(dtype).reshape(shape)

    def i(self, *shape, low=-5, high=6, dtype=torch.int64):
        """Integers from `low` to below `high`."""
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)

    def b(self, *shape):
        """Booleans."""
        return torch.rand(shape, generator=self.generator) < 0.5


class Op:
    """The samples of one op."""

    def __init__(self, name, call):
        self.name = name
        self.call = call
        self.draw = Draw(name)
        self.samples = []
        self.faults = []

    def __call__(self, name, *args, **kwargs):
        """Adds a sample with the output of the call."""
        try:
            output = self.call(*args, **kwargs)
        except REFUSALS as error:
            self.faults.append(f"{self.name}, {name}: PyTorch refuses this: {error}")
        else:
            self._add(name, args, kwargs, output=encode(output))

    def error(self, name, *args, **kwargs):
        """Adds a sample that PyTorch refuses."""
        try:
            output = self.call(*args, **kwargs)
        except REFUSALS:
            self._add(name, args, kwargs, error=True)
        else:
            self.faults.append(f"{self.name}, {name}: PyTorch accepts this and gives {output}")

    def random(self, name, *args, **kwargs):
        """Adds a sample of which only the output's element type and shape are fixed."""
        output = self.call(*args, **kwargs)
        self._add(name, args, kwargs, output={"like": {"dtype": DTYPES[output.dtype], "shape": list(output.shape)}})

    def _add(self, name, args, kwargs, **result):
        if any(sample["name"] == name for sample in self.samples):
            self.faults.append(f"{self.name}: two samples are named {name}")
        sample = {"name": name, "args": [encode(arg) for arg in args]}
        sample["kwargs"] = {key: encode(arg) for key, arg in kwargs.items()}
        self.samples.append(sample | result)


class Table:
    """All ops, and where their files go."""

    def __init__(self):
        self.ops = {}

    def op(self, name, call):
        """The op of that name; `call` takes its canonical form."""
        if name in self.ops:
            raise SystemExit(f"two ops are named {name}")
        self.ops[name] = Op(name, call)
        return self.ops[name]

    def write(self, folder, names):
        """Writes a file for each op, or for those that are named, and removes those of ops that are gone; refuses if a sample is
        wrong. The last digits depend on the processor, so files of ops that are as they were are better left alone."""
        faults = [fault for op in self.ops.values() for fault in op.faults]
        if faults:
            raise SystemExit("\n".join(faults))
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for stale in set(folder.glob("*.json")) - {folder / f"{name}.json" for name in self.ops}:
            stale.unlink()
        for name in names or self.ops:
            op = self.ops[name]
            (folder / f"{name}.json").write_text(file_text(op))


def file_text(op):
    """The text of a golden file: one sample a line."""
    head = {"generator": "tools/torch_ref/ops.py", "torch": torch.__version__.split("+")[0], "seed": SEED, "op": op.name}
    lines = ",\n".join("  " + json.dumps(sample, allow_nan=False) for sample in op.samples)
    return json.dumps(head)[:-1] + ', "samples": [\n' + lines + "\n]}\n"


def encode(value):
    """A value as the files write it."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return {"tensor": {"dtype": DTYPES[value.dtype], "shape": list(value.shape), "data": data(value)}}
    if value is None:
        return {"none": None}
    if value is Ellipsis:
        return {"ellipsis": None}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    if isinstance(value, float):
        return {"float": number(value)}
    if isinstance(value, str):
        return {"str": value}
    if isinstance(value, torch.dtype):
        return {"dtype": DTYPES[value]}
    if isinstance(value, slice):
        return {"slice": [encode(part) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, list):
        return {"list": [encode(item) for item in value]}
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    raise SystemExit(f"{type(value)} has no form in golden files")


def data(tensor):
    """The elements in row-major order, each with as few digits as give it back."""
    if not tensor.dtype.is_floating_point:
        return [int(x) for x in tensor.reshape(-1).tolist()]
    flat = tensor.reshape(-1)
    if tensor.dtype in (torch.float32, torch.float16):
        return [number(float(str(x))) for x in flat.numpy()]
    return [number(x) for x in flat.double().tolist()]


def number(x):
    """A float, or the word for one that JSON cannot write."""
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x
