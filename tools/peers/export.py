"""Writes what the engines load: python export.py <folder> <model> <batch>

`weights.safetensors` for all batches; `<batch>.onnx`, and if SELU is in it `<batch>.elu.onnx` for engines without it;
`<batch>.input.safetensors` with the tensor `x`, and if there are more inputs `x1`, `x2` and so on;
`<batch>.output.safetensors` with PyTorch's answer `y`, the first if there are several.
"""

import sys
from pathlib import Path

import onnx
import safetensors.torch
import torch

import models

SELU = {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}


def weights(model):
    """The state without counters, and each shared tensor once, under its first name."""
    seen, state = set(), {}
    for name, tensor in model.state_dict().items():
        if name.endswith("num_batches_tracked") or tensor.data_ptr() in seen:
            continue
        seen.add(tensor.data_ptr())
        state[name] = tensor.contiguous()
    return state


def without_selu(model):
    """Writes SELU as a product with ELU; whether there was any."""
    nodes, found = [], False
    for node in model.graph.node:
        if node.op_type == "Selu":
            found, inner = True, f"{node.output[0]}_elu"
            nodes.append(onnx.helper.make_node("Elu", node.input, [inner], alpha=SELU["alpha"]))
            node = onnx.helper.make_node("Mul", [inner, "selu_gamma"], node.output)
        nodes.append(node)
    gamma = onnx.helper.make_tensor("selu_gamma", onnx.TensorProto.FLOAT, [], [SELU["gamma"]])
    model.graph.initializer.append(gamma)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return found


def main(folder, name, batch):
    folder = Path(folder) / name
    folder.mkdir(parents=True, exist_ok=True)
    model, inputs = models.make(name, batch)
    with torch.inference_mode():
        outputs = model(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    y = outputs[0].contiguous()
    inputs_by_name = {f"x{place or ''}": x for place, x in enumerate(inputs)}
    safetensors.torch.save_file(weights(model), folder / "weights.safetensors")
    safetensors.torch.save_file(inputs_by_name, folder / f"{batch}.input.safetensors")
    for module in model.modules():
        if hasattr(module, "set_attn_implementation"):
            module.set_attn_implementation("eager")  # plain products: the fused one is written with guards against NaN
    torch.onnx.export(
        model, inputs, folder / f"{batch}.onnx", input_names=list(inputs_by_name),
        output_names=[f"y{place or ''}" for place in range(len(outputs))], opset_version=18,
        external_data=False, optimize=True, verbose=False,
    )
    plain = onnx.load(folder / f"{batch}.onnx")
    if without_selu(plain):
        onnx.save(plain, folder / f"{batch}.elu.onnx")
    # The last one: its presence says that all are there.
    safetensors.torch.save_file({"y": y}, folder / f"{batch}.output.safetensors")
    print(f"{name}, batch {batch}: {tuple(inputs[0].shape)} -> {tuple(y.shape)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
