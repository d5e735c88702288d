"""Writes what the engines load: python export.py <folder> <model> <batch>

`weights.safetensors` for all batches; `<batch>.onnx`; `<batch>.input.safetensors` with the tensor `x`;
`<batch>.output.safetensors` with PyTorch's answer `y`.
"""

import sys
from pathlib import Path

import safetensors.torch
import torch

import models


def weights(model):
    """The state without counters, and each shared tensor once, under its first name."""
    seen, state = set(), {}
    for name, tensor in model.state_dict().items():
        if name.endswith("num_batches_tracked") or tensor.data_ptr() in seen:
            continue
        seen.add(tensor.data_ptr())
        state[name] = tensor.contiguous()
    return state


def main(folder, name, batch):
    folder = Path(folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    model, x = models.make(name, batch)
    with torch.inference_mode():
        y = model(x).contiguous()
    safetensors.torch.save_file(weights(model), folder / "weights.safetensors")
    safetensors.torch.save_file({"x": x}, folder / f"{batch}.input.safetensors")
    for module in model.modules():
        if hasattr(module, "set_attn_implementation"):
            module.set_attn_implementation("eager")  # plain products: the fused one is written with guards against NaN
    torch.onnx.export(
        model, (x,), folder / f"{batch}.onnx", input_names=["x"], output_names=["y"], opset_version=18,
        external_data=False, optimize=True, verbose=False,
    )
    # The last one: its presence says that all are there.
    safetensors.torch.save_file({"y": y}, folder / f"{batch}.output.safetensors")
    print(f"{name}, batch {batch}: {tuple(x.shape)} -> {tuple(y.shape)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
