"""What was measured, as Markdown."""

import os
import platform
import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

from engine import ENGINES, RUST

# The packages whose versions say what was measured.
PYTHON = {"pytorch": "torch", "onnxruntime": "onnxruntime", "openvino": "openvino"}
RUST_CRATES = {"rten": "rten", "tract": "tract-onnx", "candle": "candle-core", "burn": "burn-tensor"}
NAMES = {
    "resnet50": "ResNet-50",
    "mobilenet_v2": "MobileNetV2",
    "vit_b_16": "ViT-B/16",
    "bert": "BERT-base, sequence 128",
    "gpt2": "GPT-2 124M with head, 128 tokens",
    "minilm": "MiniLM-L6, sequence 128",
    "recommender": "DeepRecommender",
    "lstm": "LSTM, 2 layers of 512, 100 steps",
    "digits": "digits CNN",
    "mlp": "MLP 32-32-10",
    "efficientnet_b0": "EfficientNet-B0",
    "densenet121": "DenseNet-121",
    "convnext_tiny": "ConvNeXt-T",
    "swin_t": "Swin-T",
    "unet": "U-Net, 256 x 256",
    "generator": "generator of DCGAN, 64 x 64",
    "heatmaps": "heatmaps of Simple Baselines, 64 x 48",
    "yolo": "YOLOv8n backbone, 320 x 320",
    "whisper": "Whisper tiny encoder, 30 s",
    "llama": "Llama 135M, 128 tokens",
    "llama_step": "Llama 135M, a token after others",
    "decoder": "latent diffusion decoder, 128 x 128",
    "t5": "T5 small encoder, 128 tokens",
    "dlrm": "DLRM, 26 tables of 20000 x 64",
    "resnext50": "ResNeXt-50 32x4d",
    "mobilenet_v3": "MobileNetV3 large",
    "shufflenet_v2": "ShuffleNetV2",
    "r3d_18": "R3D-18, 8 frames of 112 x 112",
    "unet3d": "3D U-Net, 32 x 64 x 64",
    "segformer": "SegFormer B0, 256 x 256",
    "edsr": "EDSR, 64 x 64 to 128 x 128",
    "crnn": "CRNN, 32 x 128",
    "pointnet": "PointNet, 1024 points",
    "mixer": "MLP-Mixer S/16",
    "wav2vec2": "Wav2Vec 2.0 base, 1 s",
    "conformer": "Conformer S, 4 s",
    "hifigan": "HiFi-GAN V2, 32 frames",
    "deeplab": "DeepLabV3 on ResNet-50, 256 x 256",
    "denoiser": "latent diffusion U-Net, 32 x 32",
    "deepspeech": "Deep Speech 2, 2 s",
}


@dataclass
class Result:
    """What came out of one work on one number of threads, by engine."""

    model: str
    batch: int
    threads: int
    rounds: dict = field(default_factory=dict)  # the times of each round, in microseconds
    load: dict = field(default_factory=dict)  # milliseconds
    memory: dict = field(default_factory=dict)  # the peak, and what was resident before loading, in MB
    difference: dict = field(default_factory=dict)  # to PyTorch's output: the largest, and relative to its largest
    failures: dict = field(default_factory=dict)

    def title(self):
        return f"{NAMES[self.model]}, {'after' if self.model == 'llama_step' else 'batch'} {self.batch}"

    def time(self, engine):
        """The median of all runs, in milliseconds."""
        return median(time for times in self.rounds[engine] for time in times) / 1e3

    def best_peer(self):
        peers = [name for name in self.rounds if not name.startswith("fx")]
        return min(peers, key=self.time, default=None)

    def ratio(self, engine, other):
        """The median of the ratios of each round: what slows a whole round down does not count."""
        if engine not in self.rounds or other not in self.rounds:
            return None
        pairs = zip(self.rounds[engine], self.rounds[other])
        return median(median(a) / median(b) for a, b in pairs)


def number(value):
    """Three digits that mean something."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.01 else f"{value:.4f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def titles(engines):
    return [ENGINES[name][0] for name in engines]


def cells(result, engines):
    best = result.best_peer()
    times = [number(result.time(name)) if name in result.rounds else "-" for name in engines]
    ratios = [number(result.ratio("fx", best)), number(result.ratio("fx-eager", "pytorch"))]
    return [result.title(), str(result.threads), *times, *ratios]


def row(result, engines):
    return " | ".join(cells(result, engines))


def text(results, options, load):
    engines = options.engines
    header = ["ms", "threads", *titles(engines), "fx / best peer", "eager / PyTorch eager"]
    parts = [
        machine(load),
        versions(engines),
        table(header, [cells(result, engines) for result in results]),
        behind(results),
        failures(results),
        differences(results, engines),
        costs(results, engines),
    ]
    return "\n\n".join(part for part in parts if part)


def machine(load):
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    flags = "AVX-512" if "avx512f" in Path("/proc/cpuinfo").read_text() else "no AVX-512"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    name = cpu.group(1) if cpu else platform.processor()
    return (
        f"Machine: {name}, {os.cpu_count()} cores, {flags}, {memory:.0f} GiB, Linux {platform.release()}; "
        f"load average before the run {load:.1f}."
    )


def versions(engines):
    commit = subprocess.run(["git", "-C", RUST, "describe", "--always", "--dirty"], capture_output=True, text=True)
    locked = {p["name"]: p["version"] for p in tomllib.loads((RUST / "Cargo.lock").read_text())["package"]}
    found = [f"fx {commit.stdout.strip()}"]
    for name in engines:
        if name in PYTHON:
            found.append(f"{ENGINES[name][0].removesuffix(' eager')} {version(PYTHON[name])}")
        elif name in RUST_CRATES:
            found.append(f"{name} {locked[RUST_CRATES[name]]}")
    return f"Versions: {', '.join(found)}."


def behind(results):
    """Where fx loses."""
    lines = []
    for result in results:
        best = result.best_peer()
        for engine, other in [("fx", best), ("fx-eager", "pytorch")]:
            ratio = result.ratio(engine, other)
            if ratio and ratio > 1:
                where = f"{result.title()}, {result.threads} threads"
                lines.append(f"- {where}: {ENGINES[engine][0]} takes {ratio:.2f} times as long as {ENGINES[other][0]}")
    return "Behind:\n\n" + "\n".join(lines) if lines else "Behind: nowhere."


def failures(results):
    lines = []
    for result in results:
        for name, reason in result.failures.items():
            lines.append(f"- {ENGINES[name][0]}, {result.title()}: {reason}")
    return "Not measured:\n\n" + "\n".join(dict.fromkeys(lines)) if lines else ""


def differences(results, engines):
    """The largest difference to PyTorch's output, and what share it is of the largest element."""
    rows = []
    for result in results:
        if result.threads == results[0].threads:
            found = [result.difference.get(name) for name in engines]
            shown = [f"{pair[0]:.0e} ({pair[1]:.0e})" if pair else "-" for pair in found]
            rows.append([result.title(), *shown])
    header = ["largest difference to PyTorch (relative to the largest element)", *titles(engines)]
    return table(header, rows)


def costs(results, engines):
    """Time to load and peak memory, of the works that were loaded several times."""
    measured = {}
    for result in results:
        measured.setdefault(result.model, result)
    loads, peaks = [], []
    for result in measured.values():
        loads.append([result.title(), *[number(median(result.load[n])) if n in result.load else "-" for n in engines]])
        shown = [result.memory.get(name) for name in engines]
        peaks.append([result.title(), *[f"{pair[0]:.0f} ({pair[0] - pair[1]:.0f})" if pair else "-" for pair in shown]])
    return "\n\n".join([
        table(["load, ms", *titles(engines)], loads),
        table(["peak memory, MB (without what was there before loading)", *titles(engines)], peaks),
    ])


def build(seconds, size):
    return f"\nA clean release build of the fx engine takes {seconds:.0f} s; the program has {size / 1e6:.1f} MB."
