"""The figures of benches/passes.rs for torch.fx.

Run: python tools/torch_ref/passes_bench.py [--rust FILE]
where FILE has the output of `cargo bench --bench passes`; then ratios are printed too.
"""

import argparse
import copy
import statistics
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
    relu = torch.nn.ReLU
    has_modules = any(isinstance(child, relu) for child in module.modules())
    if has_modules:
        # A module matches by its path only: one pattern finds the calls of one path.
        return

    def pattern(x):
        return x.relu()

    def replacement(x):
        return x.clamp(0.0)

    torch.fx.replace_pattern(module, pattern, replacement)


def decompose(module):
    # Batch norms check the rank of their input, which cannot be traced.
    torch.nn.BatchNorm2d._check_input_dim = lambda self, input: None
    torch.fx.GraphModule(module, NoLeaves().trace(module))


def measure(what, module, figures):
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
    for name, run in passes.items():
        try:
            figure = median(3, module, run)
        except Exception as error:  # noqa: BLE001
            print(f"{what}: {name:<28} fails: {type(error).__name__}: {str(error)[:60]}")
            continue
        figures[f"{what}: {name}"] = figure
        print(f"{what + ': ' + name:<44} {figure:>12.1f} us")


def read(path):
    figures = {}
    for line in open(path):
        if line.rstrip().endswith(" us"):
            name, figure = line.rsplit(None, 2)[:2]
            figures[name.strip()] = float(figure)
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rust")
    arguments = parser.parse_args()
    print("torch", torch.__version__, "torchvision", torchvision.__version__)
    torch.set_num_threads(1)
    figures = {}
    with torch.no_grad():
        measure("ResNet-50", torch.fx.symbolic_trace(torchvision.models.resnet50().eval()), figures)
        measure("10,000 nodes", torch.fx.symbolic_trace(Step(2000)), figures)
    if arguments.rust:
        print("| pass | fx | torch.fx | ratio |\n| --- | ---: | ---: | ---: |")
        for name, ours in read(arguments.rust).items():
            if name in figures:
                theirs = figures[name]
                print(f"| {name} | {ours / 1e3:.2f} ms | {theirs / 1e3:.1f} ms | {theirs / ours:.0f} |")


if __name__ == "__main__":
    main()
