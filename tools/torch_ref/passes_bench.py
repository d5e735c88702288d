"""The figures of benches/passes.rs for torch.fx.

Run: python tools/torch_ref/passes_bench.py [--bench PROGRAM] [--rounds N]
where PROGRAM is what `cargo bench --bench passes --no-run` makes. Then both run in turn, N times, and a table of medians is
printed, with the median of the rounds' ratios.
"""

import argparse
import copy
import statistics
import subprocess
import time

import torch
import torch.fx
import torchvision
from torch.fx.experimental import const_fold, optimization
from torch.fx.passes.dialect.common.cse_pass import CSEPass
from torch.fx.passes.tools_common import stable_topological_sort


def median(runs, module, f):
    times = []
    for _ in range(runs):
        clone = copy.deepcopy(module)
        start = time.perf_counter()
        f(clone)
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


class Step(torch.nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, x):
        for _ in range(self.steps):
            product = (x + 1.0) * (x + 1.0)
            product.neg()
            x = product.relu()
        return x


class NoLeaves(torch.fx.Tracer):
    def is_leaf_module(self, module, path):
        return False


def dead_code(module):
    module.graph.eliminate_dead_code()
    module.recompile()


def replace(module):
    def pattern(x):
        return x.relu()

    def replacement(x):
        return x.clamp(0.0)

    torch.fx.replace_pattern(module, pattern, replacement)


def decompose(module):
    # Batch norms check the rank of their input, which cannot be traced.
    torch.nn.BatchNorm2d._check_input_dim = lambda self, input: None
    torch.fx.GraphModule(module, NoLeaves().trace(module))


def measure(what, module, runs):
    passes = {
        "dead code": dead_code,
        "common subexpressions": lambda module: CSEPass()(module),
        "constant folding": const_fold.split_const_subgraphs,
        "remove dropout": optimization.remove_dropout,
        "fuse conv-bn": lambda module: optimization.fuse(module, inplace=True, no_trace=True),
        "topological sort": stable_topological_sort,
        "modules to functions": decompose,
        "replace a pattern": replace,
        "lint": lambda module: module.graph.lint(),
        "print": lambda module: str(module.graph),
        "copy": copy.deepcopy,
        "transform": lambda module: torch.fx.Transformer(module).transform(),
    }
    figures = {}
    for name, run in passes.items():
        if name == "replace a pattern" and what == "ResNet-50":
            # A module matches by its path only: one pattern finds the calls of one path.
            continue
        try:
            figures[f"{what}: {name}"] = median(runs, module, run)
        except Exception as error:  # noqa: BLE001
            print(f"{what}: {name:<28} fails: {type(error).__name__}: {str(error)[:60]}")
    return figures


def ours(program):
    """The figures that the other program prints."""
    figures = {}
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        if line.rstrip().endswith(" us"):
            name, figure = line.rsplit(None, 2)[:2]
            figures[name.strip()] = float(figure)
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    print("torch", torch.__version__, "torchvision", torchvision.__version__)
    torch.set_num_threads(1)
    models = {
        "ResNet-50": torch.fx.symbolic_trace(torchvision.models.resnet50().eval()),
        "10000 nodes": torch.fx.symbolic_trace(Step(2000)),
    }
    rounds = []
    with torch.no_grad():
        for _ in range(arguments.rounds):
            theirs = {}
            for what, module in models.items():
                theirs |= measure(what, module, runs=1 if arguments.bench else 3)
            rounds.append((ours(arguments.bench) if arguments.bench else {}, theirs))
    print("| pass | fx | torch.fx | ratio |\n| --- | ---: | ---: | ---: |")
    for name in rounds[0][1]:
        theirs = [figures[name] for _, figures in rounds]
        mine = [figures[name] for figures, _ in rounds if name in figures]
        ratios = [b / a for a, b in zip(mine, theirs)]
        mid = lambda values, form: form.format(statistics.median(values)) if values else ""  # noqa: E731
        row = [mid(mine, "{:.0f} us"), mid(theirs, "{:.0f} us"), mid(ratios, "{:.0f}" if not ratios or statistics.median(ratios) >= 10 else "{:.2g}")]
        print(f"| {name} | {' | '.join(row)} |")


if __name__ == "__main__":
    main()
