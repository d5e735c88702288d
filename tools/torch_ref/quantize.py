"""Writes tests/golden/quantize.json: what PyTorch's observers and quantize_fx find.

    python tools/torch_ref/quantize.py

Weights and inputs follow fill.py, so the file holds results only. A batch is `(x * scale + offset) ** 3` of `x` by its
name: far from uniform, with outliers.
"""

import json
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.ao.quantization import QConfig, QConfigMapping, get_default_qconfig
from torch.ao.quantization.backend_config import get_onednn_backend_config
from torch.ao.quantization.observer import (
    HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver, PerChannelMinMaxObserver,
    default_per_channel_weight_observer,
)
from torch.ao.quantization.quantize_fx import _convert_to_reference_decomposed_fx, prepare_fx

from fill import fill, floats

TARGET = Path(__file__).resolve().parents[2] / "tests/golden/quantize.json"
Q = torch.ops.quantized_decomposed
OBSERVERS = {
    "min_max": MinMaxObserver,
    "moving_average": MovingAverageMinMaxObserver,
    "histogram": HistogramObserver,
}
BATCHES = {
    "one batch": [["a", [4, 250], 1.0, 0.0]],
    "positive": [["b", [4, 250], 0.5, 0.6]],
    "negative": [["c", [30], 0.2, -1.5]],
    "the same range": [["a", [4, 250], 1.0, 0.0], ["a", [4, 250], 1.0, 0.0]],
    "growing": [["a", [4, 250], 0.7, 0.1], ["b", [2, 250], 1.0, 0.0], ["c", [3, 250], 1.3, -0.2]],
    "within": [["a", [4, 250], 1.3, 0.0], ["b", [4, 250], 0.4, 0.1], ["c", [4, 250], 0.5, -0.1]],
    "constant, then others": [["a", [5], 0.0, 0.5], ["b", [4, 250], 1.0, 0.0]],
    "constant": [["a", [5], 0.0, -0.5]],
    "zeros": [["a", [5], 0.0, 0.0]],
    "an outlier": [["a", [4000], 0.3, 0.0], ["b", [1], 0.0, 4.0]],
}


def batch(name, shape, scale, offset):
    x = floats(name, shape) * scale + offset
    return x * x * x


def observers():
    cases = []
    for kind, observer in OBSERVERS.items():
        for name, batches in BATCHES.items():
            for dtype, least, most in [(torch.quint8, 0, 255), (torch.qint8, -128, 127), (torch.quint8, 0, 127)]:
                seen = observer(dtype=dtype, quant_min=least, quant_max=most)
                for one in batches:
                    seen(batch(*one))
                scale, zero_point = seen.calculate_qparams()
                cases.append({
                    "observer": kind, "name": name, "batches": batches, "quant_min": least, "quant_max": most,
                    "scale": scale.item(), "zero_point": zero_point.item(),
                })
    return cases


def fake(x, qparams):
    """Quantized and dequantized."""
    scale, zero_point = qparams
    q = Q.quantize_per_tensor(x, scale, zero_point, 0, 255, torch.uint8)
    return Q.dequantize_per_tensor(q, scale, zero_point, 0, 255, torch.uint8)


def scales_of(layer):
    observer = PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
    observer(layer.weight.detach())
    return observer.calculate_qparams()[0]


def weight(layer):
    """A layer's weight, quantized and dequantized."""
    scales = scales_of(layer).float()
    zeros = torch.zeros(scales.shape, dtype=torch.int64)
    q = Q.quantize_per_channel(layer.weight.detach(), scales, zeros, 0, -128, 127, torch.int8)
    return Q.dequantize_per_channel(q, scales, None, 0, -128, 127, torch.int8)


def converted(layers, qconfig, **options):
    """The reference form of layers, and the data that observers have seen: as in tests/passes/quantize.rs."""
    fill(layers)
    data = [floats(f"x{i}", [2, 3, 8, 8]) * (1 + i) for i in range(3)]
    prepared = prepare_fx(layers, QConfigMapping().set_global(qconfig), (data[0],), **options)
    for x in data:
        prepared(x)
    return _convert_to_reference_decomposed_fx(prepared, **options), data


def inputs_of(module):
    """The scale and the zero point of what each layer reads."""
    layers = [node for node in module.graph.nodes if node.op == "call_module"]
    return {node.target: list(node.args[0].args[1:3]) for node in layers}


def model():
    layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()
    module, data = converted(layers, get_default_qconfig("onednn"))
    inputs = [inputs_of(module)[name] for name in ("0", "3")]
    weights = [scales_of(layer) for layer in (layers[0], layers[3])]
    x = fake(data[0], inputs[0])
    x = F.relu(F.conv2d(x, weight(layers[0]), layers[0].bias)).flatten(1)
    output = F.linear(fake(x, inputs[1]), weight(layers[3]), layers[3].bias)
    return {
        "inputs": inputs,
        "weights": [scales.tolist() for scales in weights],
        "output": output.flatten().tolist(),
    }


class Branches(nn.Module):
    """A value that is pooled, and stands beside one with larger numbers (`small` and `large` are windows)."""

    def __init__(self):
        super().__init__()
        self.small = nn.Conv2d(3, 4, 1)
        self.large = nn.Conv2d(3, 4, 5, padding=2)
        self.pooled = nn.Conv2d(4, 4, 3)
        self.beside = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        small, large = F.relu(self.small(x)), F.relu(self.large(x))
        return self.pooled(F.max_pool2d(large, 2)), self.beside(torch.cat([small, large], 1))


def min_max():
    return QConfig(MinMaxObserver.with_args(dtype=torch.quint8), default_per_channel_weight_observer)


def branches():
    return inputs_of(converted(Branches().eval(), min_max())[0])


class Residual(nn.Module):
    """A value that a layer reads, and that is added to what this gives."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 3, padding=1)
        self.last = nn.Conv2d(4, 5, 1)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.first(x))
        x = self.relu(self.second(x) + x)
        return self.last(x)


def residual():
    layers = Residual().eval()
    module, data = converted(layers, min_max(), backend_config=get_onednn_backend_config())
    inputs = inputs_of(module)
    second = next(node for node in module.graph.nodes if node.target == "second")
    # The layer with the sum in it reads the same value twice.
    adds = second.args[0] is second.args[1]
    x = F.relu(F.conv2d(fake(data[0], inputs["first"]), weight(layers.first), layers.first.bias, padding=1))
    x = fake(x, inputs["second"])
    x = F.relu(F.conv2d(x, weight(layers.second), layers.second.bias, padding=1) + x)
    output = F.conv2d(fake(x, inputs["last"]), weight(layers.last), layers.last.bias)
    return {"inputs": inputs, "adds": adds, "output": output.flatten().tolist()}


class Shortcut(nn.Module):
    """A sum of what two layers give, which is read by a layer and averaged."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 6, 3, padding=1)
        self.down = nn.Conv2d(4, 6, 1)
        self.last = nn.Conv2d(6, 5, 1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.first(x))
        x = self.relu(self.second(x) + self.down(x))
        return self.last(x), self.pool(x)


def shortcut():
    layers = Shortcut().eval()
    module, data = converted(layers, min_max(), backend_config=get_onednn_backend_config())
    inputs = inputs_of(module)
    nodes = {node.target: node for node in module.graph.nodes if node.op == "call_module"}
    # The layer with the sum in it reads what the other gives as its second operand.
    inputs["sum"] = list(nodes["second"].args[1].args[1:3])
    averages = nodes["pool"].args[0] is nodes["last"].args[0]
    x = F.relu(F.conv2d(fake(data[0], inputs["first"]), weight(layers.first), layers.first.bias, padding=1))
    x = fake(x, inputs["second"])
    down = fake(F.conv2d(x, weight(layers.down), layers.down.bias), inputs["sum"])
    x = fake(F.relu(F.conv2d(x, weight(layers.second), layers.second.bias, padding=1) + down), inputs["last"])
    outputs = [F.conv2d(x, weight(layers.last), layers.last.bias), F.adaptive_avg_pool2d(x, 1)]
    return {"inputs": inputs, "averages": averages, "outputs": [output.flatten().tolist() for output in outputs]}


def main():
    warnings.simplefilter("ignore")
    head = {"generator": "tools/torch_ref/quantize.py", "torch": torch.__version__.split("+")[0]}
    lines = ",\n".join("  " + json.dumps(case) for case in observers())
    text = json.dumps(head)[:-1] + ', "observers": [\n' + lines + '\n], "model":\n' + json.dumps(model()) + ',\n"branches": ' + json.dumps(branches()) + ',\n"residual": ' + json.dumps(residual()) + ',\n"shortcut": ' + json.dumps(shortcut()) + "}\n"
    TARGET.write_text(text)


if __name__ == "__main__":
    main()
