"""The figures of benches/capture.rs for PyTorch and torch.fx. Run: python tools/torch_ref/bench.py"""

import statistics
import time

import torch
import torch.fx
import torchvision


def median(runs, f):
    f()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        f()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times)


def report(what, microseconds):
    print(f"{what:<60} {microseconds:>12.2f} us")


def main():
    print("torch", torch.__version__, "torchvision", torchvision.__version__)
    model = torchvision.models.resnet50().eval()
    traced = torch.fx.symbolic_trace(model)
    report("ResNet-50: torch.fx trace", median(20, lambda: torch.fx.symbolic_trace(model)))
    report("ResNet-50: torch.fx recompile", median(20, traced.recompile))
    image = torch.rand(1, 3, 224, 224)
    with torch.inference_mode():
        for threads in [1, 2]:
            torch.set_num_threads(threads)
            report(f"ResNet-50: PyTorch eager, batch 1, {threads} threads", median(10, lambda: model(image)))


if __name__ == "__main__":
    main()
