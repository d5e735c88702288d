"""Writes the golden files of ops of the op table, or of all: `python tools/torch_ref/ops.py [op..]`."""

import sys
from pathlib import Path

import torch

from families import (
    activation, conv, creation, elementwise, fusion, index, linalg, loss, norm, pool, quantize, reduction, rnn,
    structure,
)
from golden import SEED, Table

FAMILIES = [
    activation, conv, creation, elementwise, fusion, index, linalg, loss, norm, pool, quantize, reduction, rnn,
    structure,
]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    table = Table()
    for family in FAMILIES:
        family.rows(table)
    folder = Path(__file__).resolve().parents[2] / "tests" / "golden" / "ops"
    table.write(folder, sys.argv[1:])
    samples = sum(len(op.samples) for op in table.ops.values())
    size = sum(path.stat().st_size for path in folder.glob("*.json"))
    print(f"{len(table.ops)} ops, {samples} samples, {size} bytes")


if __name__ == "__main__":
    main()
