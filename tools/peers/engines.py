"""The Python engines: python engines.py <engine> <folder> <model> <batch> <threads>; README.md has the protocol."""

import os
import sys
import time
from pathlib import Path

import numpy as np


def status(field):
    """A size from what the kernel says of this process, in KB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    return 0


def precision():
    """What to multiply in: f32, bf16, f16, int8, int8-reduced or int8-dynamic."""
    return os.environ.get("PRECISION", "f32")


def onnx(folder, batch):
    """The file of a model."""
    return folder / (f"{batch}.{precision()}.onnx" if is_quantized() else f"{batch}.onnx")


def is_quantized():
    return precision().startswith("int8")


def pytorch(folder, name, batch, threads):
    import safetensors.torch
    import torch

    import models

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    if is_quantized():
        raise ValueError("its quantized models are not made here")
    half = {"f32": None, "bf16": torch.bfloat16, "f16": torch.float16}[precision()]
    inputs = safetensors.torch.load_file(folder / f"{batch}.input.safetensors")
    inputs = [inputs[key] for key in in_order(inputs)]

    def load():
        model = models.empty(name)
        model.load_state_dict(safetensors.torch.load_file(folder / "weights.safetensors"), strict=False)
        return model

    def call(model):
        with torch.inference_mode(), torch.autocast("cpu", half, enabled=half is not None):
            y = model(*inputs)
            return y[0] if isinstance(y, tuple) else y

    return load, call, lambda y: y.float().numpy()


def onnxruntime(folder, name, batch, threads):
    import onnxruntime

    if precision() != "f32" and not is_quantized():
        raise ValueError("computes as its file says")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    feeds = read_inputs(folder, batch)
    path = str(onnx(folder, batch))

    def load():
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    return load, lambda session: session.run(None, feeds), lambda outputs: outputs[0]


def openvino(folder, name, batch, threads):
    from openvino import Core

    # Integers are as the file says, and all else in f32.
    hint = "f32" if is_quantized() else precision()
    config = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": hint}
    inputs = list(read_inputs(folder, batch).values())

    def load():
        core = Core()
        return core.compile_model(core.read_model(onnx(folder, batch)), "CPU", config).create_infer_request()

    return load, lambda request: request.infer(inputs, share_inputs=True, share_outputs=True), lambda outputs: outputs[0]


def read_inputs(folder, batch):
    """The inputs by name, in their order."""
    from safetensors.numpy import load_file

    inputs = load_file(folder / f"{batch}.input.safetensors")
    return {key: inputs[key] for key in in_order(inputs)}


def in_order(inputs):
    """x, x1, x2 and so on."""
    return sorted(inputs, key=lambda key: int(key[1:] or 0))


def main(engine, folder, name, batch, threads):
    prepare = {"pytorch": pytorch, "onnxruntime": onnxruntime, "openvino": openvino}[engine]
    load, call, values = prepare(Path(folder) / name, name, int(batch), int(threads))
    before = status("VmRSS")
    start = time.perf_counter()
    model = load()
    print("ready", (time.perf_counter() - start) * 1e3, flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "run":
            times = []
            for _ in range(int(argument)):
                start = time.perf_counter()
                call(model)
                times.append((time.perf_counter() - start) * 1e6)
            print(*times)
        elif command == "memory":
            print(status("VmHWM"), before)
        elif command == "output":
            np.ascontiguousarray(values(call(model)), "<f4").tofile(argument)
            print("written")
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        print("error", text[:300], flush=True)
        sys.exit(1)
