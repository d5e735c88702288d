"""Writes tests/golden/models: names, shapes and outputs of whole models in PyTorch.

    python tools/torch_ref/models.py [model ...]

Needs torch and torchvision, and transformers for BERT and GPT-2. Weights and inputs follow fill.py.
"""

import json
import sys
from pathlib import Path

import torch
import torchvision
from torch import nn
from torchvision.models import mobilenet_v2, resnet18, resnet34, resnet50, resnet101, vgg
from torchvision.models.vision_transformer import VisionTransformer

from fill import fill, floats, integers
from paper_models import DLRM, MLP, AutoEncoder, PaintActor

TARGET = Path(__file__).resolve().parents[2] / "tests/golden/models"


def image(channels, size, batch=1):
    return [floats("x", [batch, channels, size, size])]


def narrow_vgg(depths, batch_norm):
    """torchvision's VGG with a sixteenth of the channels and a small classifier."""
    cfg = [v for width, depth in zip([4, 8, 16, 32, 32], depths) for v in [width] * depth + ["M"]]
    model = vgg.VGG(vgg.make_layers(cfg, batch_norm=batch_norm), num_classes=10, init_weights=False)
    model.classifier = nn.Sequential(
        nn.Linear(32 * 7 * 7, 24), nn.ReLU(), nn.Dropout(), nn.Linear(24, 24), nn.ReLU(), nn.Dropout(), nn.Linear(24, 10)
    )
    return model


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=16, type_vocab_size=2, attn_implementation="eager",
    )

    class Bert(BertModel):
        def forward(self, ids, mask, types):
            out = super().forward(ids, attention_mask=mask, token_type_ids=types)
            return out.last_hidden_state, out.pooler_output

    mask = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]])
    return Bert(config), [integers("input_ids", [2, 7], 50), mask, integers("token_type_ids", [2, 7], 2)]


def gpt2():
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=4, attn_implementation="eager")

    class Gpt2(GPT2Model):
        """The hidden state, and the logits of the tied head."""

        def forward(self, ids):
            hidden = super().forward(ids).last_hidden_state
            return hidden, hidden @ self.wte.weight.T

    return Gpt2(config), [integers("input_ids", [2, 7], 50)]


def vit():
    model = VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=10
    )
    return model, image(3, 32, batch=2)


def dlrm():
    offsets = torch.tensor([[0, 1, 3, 4], [0, 2, 2, 5], [0, 1, 2, 3]])
    indices = torch.stack([integers(f"indices.{i}", [6], n) for i, n in enumerate([10, 20, 7])])
    return DLRM([10, 20, 7], [5, 16, 8], [12, 1]), [floats("dense", [4, 5]), offsets, indices]


MODELS = {
    "mlp": lambda: (MLP([8, 16, 4]), [floats("x", [3, 8])]),
    "deep_recommender": lambda: (AutoEncoder([40, 16, 16, 24], False, 0.8), [floats("x", [4, 40])]),
    "deep_recommender_constrained": lambda: (AutoEncoder([40, 16, 24], True, 0.8, False), [floats("x", [4, 40])]),
    "resnet18": lambda: (resnet18(), image(3, 64)),
    "resnet34": lambda: (resnet34(), None),
    "resnet50": lambda: (resnet50(), image(3, 224)),
    "resnet101": lambda: (resnet101(), None),
    "mobilenet_v2": lambda: (mobilenet_v2(), image(3, 64)),
    "mobilenet_v2_narrow": lambda: (mobilenet_v2(width_mult=0.35, num_classes=10), image(3, 64, batch=2)),
    "vgg11": lambda: (narrow_vgg([1, 1, 2, 2, 2], False), image(3, 64)),
    "vgg13": lambda: (narrow_vgg([2, 2, 2, 2, 2], False), image(3, 64)),
    "vgg16_bn": lambda: (narrow_vgg([2, 2, 3, 3, 3], True), image(3, 64)),
    "vgg19_bn": lambda: (narrow_vgg([2, 2, 4, 4, 4], True), image(3, 64)),
    "vit": vit,
    "bert": bert,
    "gpt2": gpt2,
    "dlrm": dlrm,
    "paint_actor": lambda: (PaintActor(), image(9, 128)),
}


def describe(output, limit):
    flat = output.reshape(-1)
    return {
        "shape": list(output.shape),
        "first": [float(f"{v:.7g}") for v in flat[:limit].tolist()],
        "sum": flat.double().sum().item(),
        "sum_of_squares": flat.double().square().sum().item(),
    }


def main(names):
    torch.manual_seed(0)
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in names or MODELS:
        model, inputs = MODELS[name]()
        model.eval()
        golden = {
            "generator": "tools/torch_ref/models.py",
            "torch": torch.__version__.split("+")[0],
            "torchvision": torchvision.__version__.split("+")[0],
            "state": fill(model),
            "outputs": [],
        }
        if inputs is not None:
            with torch.no_grad():
                outputs = model(*inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            limit = 1000 if name == "resnet50" else 64
            golden["outputs"] = [describe(output, limit) for output in outputs]
        text = json.dumps(golden).replace("], [\"", "],\n  [\"").replace("]], \"", "]],\n \"")
        (TARGET / f"{name}.json").write_text(text + "\n")
        print(name, len(golden["state"]), [o["shape"] + o["first"][:3] for o in golden["outputs"]], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
