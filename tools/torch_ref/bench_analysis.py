"""The figures of benches/analysis.rs for torch.fx. Run: python tools/torch_ref/bench_analysis.py"""

import operator
import statistics
import time

import torch
import torch.fx
import torchvision
from torch._subclasses import FakeTensorMode
from torch.fx.passes.fake_tensor_prop import FakeTensorProp
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.split_module import split_module


def report(what, runs, f):
    """Prints the median time; slow passes run once."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        f()
        times.append((time.perf_counter() - start) * 1e3)
        if sum(times) > 20_000:
            break
    print(f"{what:<50} {statistics.median(times):>10.3f} ms", flush=True)


def long(nodes):
    graph = torch.fx.Graph()
    x = last = before = graph.placeholder("x")
    for i in range(nodes - 2):
        if i % 3 == 0:
            last = graph.call_method("relu", (last,))
        elif i % 3 == 1:
            last = graph.call_method("neg", (last,))
        else:
            last = before = graph.call_function(operator.add, (last, before))
    graph.output(last)
    return torch.fx.GraphModule({}, graph)


class Support(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        if node.op == "call_module":
            return isinstance(submodules[node.target], (torch.nn.Conv2d, torch.nn.BatchNorm2d))
        return node.op == "call_method" and node.target in ("relu", "neg")


def measure(name, module, shape):
    if name != "ResNet-50":
        report(f"{name}: ShapeProp", 9, lambda: ShapeProp(module).propagate(torch.ones(shape)))

    def fake():
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            FakeTensorProp(module, mode).propagate(torch.ones(shape))

    report(f"{name}: FakeTensorProp", 9, fake)
    size = len(module.graph.nodes)
    places = {node: place for place, node in enumerate(module.graph.nodes)}
    report(f"{name}: split_module into 10 parts", 9, lambda: split_module(module, None, lambda n: places[n] * 10 // size))

    def partitioner():
        return CapabilityBasedPartitioner(module, Support(), allows_single_node_partition=False)

    report(f"{name}: propose_partitions", 9, lambda: partitioner().propose_partitions())


def main():
    print("torch", torch.__version__, "torchvision", torchvision.__version__)
    torch.set_num_threads(1)
    with torch.no_grad():
        resnet = torch.fx.symbolic_trace(torchvision.models.resnet50().eval())
        measure("ResNet-50", resnet, (1, 3, 224, 224))
        for nodes in [1_000, 10_000]:
            measure(f"{nodes} nodes", long(nodes), (4,))


if __name__ == "__main__":
    main()
