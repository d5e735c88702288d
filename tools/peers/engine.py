"""An engine as a process: started, asked, stopped in its tracks while others have their turn."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUST = HERE / "rust"
# The longest that an engine may take for an answer, in seconds.
PATIENCE = 300


class Failed(Exception):
    """An engine cannot do a work; the text says why."""


# How engines are called in tables, and the package of those written in Rust.
ENGINES = {
    "fx": ("fx", "engine-fx"),
    "fx-eager": ("fx eager", "engine-fx"),
    "pytorch": ("PyTorch eager", None),
    "onnxruntime": ("ONNX Runtime", None),
    "openvino": ("OpenVINO", None),
    "rten": ("rten", "engine-rten"),
    "tract": ("tract", "engine-tract"),
    "candle": ("candle", "engine-candle"),
    "burn": ("burn", "engine-burn"),
}


# The models for which the engine of fx has a program of its own, so that none is in the others' memory.
ARCHITECTURES = {
    "efficientnet_b0", "densenet121", "convnext_tiny", "swin_t", "unet", "generator", "heatmaps", "yolo", "whisper", "llama",
    "llama_step", "decoder", "t5", "dlrm", "resnext50", "mobilenet_v3", "shufflenet_v2", "r3d_18", "unet3d", "segformer", "edsr", "crnn", "pointnet",
    "mixer", "wav2vec2", "conformer", "hifigan", "deeplab", "denoiser", "deepspeech",
}


def cargo(*args, **environment):
    command = ["cargo", *args, "--manifest-path", RUST / "Cargo.toml", "--message-format", "json"]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment)
    messages = [json.loads(line) for line in run.stdout.splitlines()]
    return {m["target"]["name"]: m["executable"] for m in messages if m.get("executable")}


class Engine:
    """A process that has loaded a work."""

    programs = {}

    @classmethod
    def build(cls, names, note):
        """Builds what is written in Rust; a package that does not build fails when it is started."""
        for package in sorted({ENGINES[name][1] for name in names} - {None}):
            note(f"building {package}")
            try:
                cls.programs |= cargo("build", "--release", "--package", package)
            except subprocess.CalledProcessError:
                note(f"{package} does not build")

    @staticmethod
    def time_build():
        """Seconds of a release build of the fx engine from nothing, and the bytes of the program."""
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            built = cargo("build", "--release", "--package", "engine-fx", CARGO_TARGET_DIR=folder)
            return time.perf_counter() - start, Path(built["engine-fx"]).stat().st_size

    def __init__(self, name, cache, model, batch, threads):
        package = ENGINES[name][1]
        if package is None:
            command = [sys.executable, HERE / "engines.py", name]
        elif package in self.programs:
            more = "-architectures" if package == "engine-fx" and model in ARCHITECTURES else ""
            command = [self.programs[package + more]]
        else:
            raise Failed(f"{package} does not build")
        count = str(threads)
        environment = os.environ | {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count, "RAYON_NUM_THREADS": count}
        environment |= {"RTEN_NUM_THREADS": count} | ({"FX_EAGER": "1"} if name == "fx-eager" else {})
        self.process = subprocess.Popen(
            [*command, cache, model, str(batch), count], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment,
        )
        self.buffer = b""
        self.load = float(self.answer().removeprefix("ready "))
        self.pace = None
        self.process.send_signal(signal.SIGSTOP)

    def answer(self):
        """The next line that the engine prints."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.process.stdout.fileno(), 1 << 16) if ready else None
            if not data:
                self.stop()
                reason = "no answer in time" if data is None else f"ended with status {self.process.returncode}"
                raise Failed(reason)
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        line = line.decode()
        if line.startswith("error "):
            self.stop()
            raise Failed(line.removeprefix("error "))
        return line

    def ask(self, line):
        """What the engine answers; it runs only while it does."""
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # what it printed last says why
        answer = self.answer()
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def times(self, count):
        """The times of some runs in a row, in microseconds."""
        return [float(part) for part in self.ask(f"run {count}").split()]

    def memory(self):
        """The most memory that was resident, and what was before the model was loaded, in MB."""
        return [int(part) / 1024 for part in self.ask("memory").split()]

    def stop(self):
        self.process.kill()
        self.process.wait()
