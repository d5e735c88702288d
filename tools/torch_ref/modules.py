"""Writes tests/golden/modules.json: what PyTorch's modules hold, print and compute.

For each module: its state dict (names, shapes), its `repr` without children, its inputs, and its output with weights
filled by a fixed rule (`fill`), which the test repeats. A case in training mode also has the state after the step.
"""

import json
import math
import pathlib

import torch
from torch import nn

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "modules.json"


def fill(module):
    """Every float of the state by its place: the n-th element (from 0) of the k-th entry is sin(0.7 n + k + 1) / 2.

    Running variances get 1 more, to be positive. Integers stay.
    """
    for k, (name, tensor) in enumerate(module.state_dict().items()):
        if tensor.is_floating_point():
            n = torch.arange(tensor.numel(), dtype=torch.float64)
            values = torch.sin(0.7 * n + k + 1) / 2
            if name.endswith("running_var"):
                values = values + 1
            tensor.copy_(values.reshape(tensor.shape))


def data(shape, k=0):
    """Elements of an input: the n-th one is cos(0.3 n + k)."""
    n = torch.arange(math.prod(shape), dtype=torch.float64)
    return torch.cos(0.3 * n + k).float().reshape(shape)


def written(value):
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        dtype = {torch.float32: "f32", torch.int64: "i64", torch.bool: "bool"}[value.dtype]
        return {"dtype": dtype, "shape": list(value.shape), "data": value.flatten().tolist()}
    return [written(item) for item in value]


def state(module):
    return [[name, written(tensor)] for name, tensor in module.state_dict().items()]


def flat(output):
    if isinstance(output, torch.Tensor):
        return [output]
    return [tensor for item in output if item is not None for tensor in flat(item)]


def case(name, module, *inputs, train=False, **kwargs):
    torch.manual_seed(0)
    module.train(train)
    with torch.no_grad():
        fill(module)
        shapes = [[entry, list(tensor.shape)] for entry, tensor in module.state_dict().items()]
        entry = {"name": name, "train": train, "repr": module.extra_repr(), "state": shapes}
        entry["inputs"] = written([*inputs, *kwargs.values()])
        entry["outputs"] = written(flat(module(*inputs, **kwargs)))
        if train:
            entry["after"] = state(module)
    return entry


IMAGE = data([2, 4, 6, 5])
SEQUENCE = data([3, 2, 4])
LINE = data([2, 4, 7])
VOLUME = data([1, 2, 4, 3, 5])
ROWS = data([3, 4])
IDS = torch.tensor([[0, 2, 1], [3, 0, 2]])
PADDING = torch.tensor([[False, False, True], [False, False, False]])
MEMORY_PADDING = torch.tensor([[False, True, False, False, False], [False, False, False, False, True]])
CAUSAL = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
ADDED = data([3, 3], 2)


def layers():
    yield case("Linear", nn.Linear(4, 5), ROWS)
    yield case("Linear no bias", nn.Linear(4, 5, bias=False), ROWS)
    yield case("Bilinear", nn.Bilinear(4, 3, 2), ROWS, data([3, 3], 1))
    yield case("Identity", nn.Identity(), ROWS)
    yield case("Conv1d", nn.Conv1d(4, 2, 3), LINE)
    yield case("Conv1d circular", nn.Conv1d(4, 2, 3, padding=1, padding_mode="circular"), LINE)
    yield case("Conv2d", nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2, bias=False), IMAGE)
    yield case("Conv2d same", nn.Conv2d(4, 2, (3, 2), padding="same", dilation=(1, 2)), IMAGE)
    yield case("Conv2d reflect", nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode="reflect"), IMAGE)
    yield case("Conv2d same replicate", nn.Conv2d(4, 2, (3, 2), padding="same", padding_mode="replicate"), IMAGE)
    yield case("Conv3d", nn.Conv3d(2, 3, 2, padding=1), VOLUME)
    yield case("ConvTranspose1d", nn.ConvTranspose1d(4, 2, 3, stride=2), LINE)
    yield case("ConvTranspose2d", nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2), IMAGE)
    yield case("ConvTranspose3d", nn.ConvTranspose3d(2, 3, 2, stride=2, dilation=2), VOLUME)
    for train in [False, True]:
        suffix = " train" if train else ""
        yield case("BatchNorm1d" + suffix, nn.BatchNorm1d(4), LINE, train=train)
        yield case("BatchNorm2d" + suffix, nn.BatchNorm2d(4), IMAGE, train=train)
        yield case("BatchNorm3d" + suffix, nn.BatchNorm3d(2, momentum=None), VOLUME, train=train)
        yield case("InstanceNorm2d tracked" + suffix, nn.InstanceNorm2d(4, track_running_stats=True), IMAGE, train=train)
    yield case("BatchNorm1d plain", nn.BatchNorm1d(4, affine=False, track_running_stats=False), LINE)
    yield case("InstanceNorm1d", nn.InstanceNorm1d(4), LINE)
    yield case("InstanceNorm2d", nn.InstanceNorm2d(4, affine=True), IMAGE)
    yield case("InstanceNorm3d", nn.InstanceNorm3d(2, affine=True), VOLUME)
    yield case("LayerNorm", nn.LayerNorm([6, 5], eps=1e-3), IMAGE)
    yield case("LayerNorm no bias", nn.LayerNorm(4, bias=False), ROWS)
    yield case("GroupNorm", nn.GroupNorm(2, 4), IMAGE)
    yield case("RMSNorm", nn.RMSNorm(4), ROWS)
    yield case("LocalResponseNorm", nn.LocalResponseNorm(2), IMAGE)
    yield case("Embedding", nn.Embedding(4, 3, padding_idx=0), IDS)
    yield case("EmbeddingBag", nn.EmbeddingBag(4, 3), IDS)
    yield case("EmbeddingBag sum", nn.EmbeddingBag(4, 3, mode="sum", padding_idx=0), IDS.flatten(), torch.tensor([0, 2]))


def sequences():
    yield case("MultiheadAttention", nn.MultiheadAttention(4, 2), SEQUENCE, data([5, 2, 4], 1), data([5, 2, 4], 2))
    first = data([2, 3, 4])
    yield case("MultiheadAttention masks", nn.MultiheadAttention(4, 2, bias=False, batch_first=True), first, first, first,
               key_padding_mask=PADDING, attn_mask=CAUSAL)
    yield case("MultiheadAttention added", nn.MultiheadAttention(4, 2, batch_first=True), first, first, first,
               key_padding_mask=None, attn_mask=ADDED)
    options = {"dim_feedforward": 8, "batch_first": True}
    yield case("TransformerEncoderLayer", nn.TransformerEncoderLayer(4, 2, **options), first, CAUSAL)
    yield case("TransformerEncoderLayer first",
               nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, norm_first=True, activation="gelu"), SEQUENCE)
    layer = nn.TransformerEncoderLayer(4, 2, **options)
    yield case("TransformerEncoder", nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(4), enable_nested_tensor=False),
               first)
    memory = data([2, 5, 4], 3)
    yield case("TransformerDecoderLayer", nn.TransformerDecoderLayer(4, 2, **options), first, memory, CAUSAL)
    yield case("TransformerDecoderLayer first",
               nn.TransformerDecoderLayer(4, 2, dim_feedforward=8, norm_first=True, activation="gelu"), SEQUENCE,
               data([5, 2, 4], 3))
    layer = nn.TransformerDecoderLayer(4, 2, **options)
    yield case("TransformerDecoder", nn.TransformerDecoder(layer, 2, norm=nn.LayerNorm(4)), first, memory,
               tgt_mask=CAUSAL, memory_mask=None, tgt_key_padding_mask=PADDING, memory_key_padding_mask=MEMORY_PADDING)
    for kind in [nn.RNN, nn.LSTM, nn.GRU]:
        name = kind.__name__
        yield case(name, kind(4, 3), SEQUENCE)
        yield case(name + " deep", kind(4, 3, num_layers=2, bidirectional=True, batch_first=True), SEQUENCE)
        yield case(name + " no bias", kind(4, 3, bias=False), SEQUENCE)
    yield case("RNN relu", nn.RNN(4, 3, nonlinearity="relu"), SEQUENCE, data([1, 2, 3], 4))
    yield case("LSTM state", nn.LSTM(4, 3), SEQUENCE, (data([1, 2, 3], 4), data([1, 2, 3], 5)))
    yield from cells()


def cells():
    for kind in [nn.RNNCell, nn.LSTMCell, nn.GRUCell]:
        name = kind.__name__
        for suffix, batch in [("", [3]), (" unbatched", [])]:
            hx, cx = data([*batch, 3], 4), data([*batch, 3], 5)
            yield case(name + suffix, kind(4, 3), data([*batch, 4]), (hx, cx) if kind is nn.LSTMCell else hx)
            yield case(name + suffix + " zeros", kind(4, 3), data([*batch, 4]))
        yield case(name + " no bias", kind(4, 3, bias=False), ROWS)
    yield case("RNNCell relu", nn.RNNCell(4, 3, nonlinearity="relu"), ROWS, data([3, 3], 4))


def elementwise():
    for name in ["ReLU", "ReLU6", "ELU", "SELU", "CELU", "LeakyReLU", "PReLU", "GELU", "SiLU", "Mish", "Softplus", "Softsign",
                 "Tanh", "Sigmoid", "Hardtanh", "Hardsigmoid", "Hardswish", "LogSigmoid", "GLU", "Tanhshrink", "Softshrink",
                 "Hardshrink", "Dropout", "Flatten"]:
        yield case(name, getattr(nn, name)(), 4 * ROWS)
    yield case("ELU alpha", nn.ELU(0.5), ROWS)
    yield case("GELU tanh", nn.GELU("tanh"), ROWS)
    yield case("PReLU channels", nn.PReLU(4), ROWS)
    for name in ["Softmax", "LogSoftmax", "Softmin"]:
        yield case(name, getattr(nn, name)(1), ROWS)
    yield case("Threshold", nn.Threshold(0.1, 20.0), ROWS)
    yield case("Dropout1d", nn.Dropout1d(0.2), LINE)
    yield case("Dropout2d", nn.Dropout2d(0.2), IMAGE)
    yield case("Dropout3d", nn.Dropout3d(0.2), VOLUME)


def windows():
    yield case("MaxPool1d", nn.MaxPool1d(3), LINE)
    yield case("MaxPool2d", nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), IMAGE)
    yield case("MaxPool3d", nn.MaxPool3d(2, stride=1), VOLUME)
    yield case("AvgPool1d", nn.AvgPool1d(2), LINE)
    yield case("AvgPool2d", nn.AvgPool2d((3, 2), stride=(2, 1), padding=1, count_include_pad=False), IMAGE)
    yield case("AvgPool3d", nn.AvgPool3d(2, divisor_override=3), VOLUME)
    yield case("AdaptiveAvgPool1d", nn.AdaptiveAvgPool1d(3), LINE)
    yield case("AdaptiveAvgPool2d", nn.AdaptiveAvgPool2d((3, 2)), IMAGE)
    yield case("AdaptiveAvgPool3d", nn.AdaptiveAvgPool3d(2), VOLUME)
    yield case("AdaptiveMaxPool1d", nn.AdaptiveMaxPool1d(3), LINE)
    yield case("AdaptiveMaxPool2d", nn.AdaptiveMaxPool2d(2), IMAGE)
    yield case("AdaptiveMaxPool3d", nn.AdaptiveMaxPool3d(2), VOLUME)
    yield case("Unflatten", nn.Unflatten(1, (2, 2)), ROWS)
    yield case("Upsample", nn.Upsample(scale_factor=2), IMAGE)
    yield case("Upsample bilinear", nn.Upsample(size=(4, 7), mode="bilinear", align_corners=True), IMAGE)
    yield case("PixelShuffle", nn.PixelShuffle(2), IMAGE)
    yield case("PixelUnshuffle", nn.PixelUnshuffle(2), data([1, 1, 4, 6]))
    yield case("ChannelShuffle", nn.ChannelShuffle(2), IMAGE)
    yield case("Unfold", nn.Unfold(2), IMAGE)
    yield case("Unfold all", nn.Unfold((2, 3), dilation=(2, 1), padding=(1, 0), stride=2), IMAGE)
    yield case("Fold", nn.Fold(3, 2), data([2, 8, 4]))
    yield case("Fold all", nn.Fold((4, 5), (2, 3), dilation=(2, 1), padding=(1, 0), stride=2), data([2, 6, 4]))
    inputs = {"1d": LINE, "2d": IMAGE, "3d": VOLUME}
    amounts = {"1d": (2, 1), "2d": (1, 2, 3, 0), "3d": (1, 0, 1, 1, 0, 1)}
    for dims, x in inputs.items():
        for name in ["ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"]:
            yield case(name + dims, getattr(nn, name + dims)(1 if name == "ZeroPad" else amounts[dims]), x)
        yield case("ConstantPad" + dims, getattr(nn, "ConstantPad" + dims)(1, 2.5), x)


def losses():
    target = data([3, 4], 1)
    yield case("CosineSimilarity", nn.CosineSimilarity(), ROWS, target)
    yield case("PairwiseDistance", nn.PairwiseDistance(), ROWS, target)
    yield case("PairwiseDistance keepdim", nn.PairwiseDistance(p=1.0, eps=1e-3, keepdim=True), ROWS, target)
    for name in ["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"]:
        yield case(name, getattr(nn, name)(), 3 * ROWS, target)
    yield case("MSELoss sum", nn.MSELoss(reduction="sum"), ROWS, target)
    classes = torch.tensor([1, 0, 3])
    yield case("CrossEntropyLoss", nn.CrossEntropyLoss(label_smoothing=0.1), ROWS, classes)
    yield case("NLLLoss", nn.NLLLoss(weight=torch.ones(4)), ROWS, classes)
    yield case("BCELoss", nn.BCELoss(), ROWS.sigmoid(), target.sigmoid())
    yield case("BCEWithLogitsLoss", nn.BCEWithLogitsLoss(pos_weight=torch.ones(4)), ROWS, target.sigmoid())
    yield case("KLDivLoss", nn.KLDivLoss(reduction="batchmean"), ROWS.log_softmax(1), target.softmax(1))


if __name__ == "__main__":
    cases = [*layers(), *sequences(), *elementwise(), *windows(), *losses()]
    text = ",\n".join(json.dumps(entry) for entry in cases)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(f"[\n{text}\n]\n")
    print(f"{len(cases)} cases")
