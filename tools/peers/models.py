"""The models of the benchmark in PyTorch: each takes one tensor and gives one, with weights by seed.

Parameters have the names that `fx::nn::models` loads, which are those of torchvision, of Hugging Face, and of the
authors of what is in no package.
"""

import sys
from pathlib import Path

import safetensors.torch
import torch
import torchvision
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools/torch_ref"))

import digits as digits_model
from architectures import T5, Decoder, Dlrm, Generator, Heatmaps, Llama, LlamaStep, UNet, Whisper, Yolo
from paper_models import MLP, AutoEncoder
from sight import Crnn, DeepLab, Denoiser, Edsr, Mixer, PointNet, Segformer, UNet3d
from sound import Conformer, DeepSpeech, HifiGan, Wav2Vec2


class Hidden(nn.Module):
    """BERT's last hidden state."""

    def __init__(self, **sizes):
        super().__init__()
        from transformers import BertConfig, BertModel

        self.bert = BertModel(BertConfig(**sizes))

    def forward(self, ids):
        return self.bert(ids).last_hidden_state


class Logits(nn.Module):
    """GPT-2 with its head."""

    def __init__(self):
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        head = GPT2LMHeadModel(GPT2Config())
        self.transformer, self.lm_head = head.transformer, head.lm_head

    def forward(self, ids):
        return self.lm_head(self.transformer(ids, use_cache=False).last_hidden_state)


class Lstm(nn.Module):
    """Two layers, all hidden states of the last one."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(512, 512, num_layers=2)

    def forward(self, x):
        return self.lstm(x)[0]


def vit():
    model = torchvision.models.vit_b_16()
    nn.init.normal_(model.heads.head.weight, std=0.02)  # zeros otherwise, and so were the output
    return model


def recommender():
    model = AutoEncoder([17768, 512, 512, 1024], False, 0.8)
    for weight in [*model.encode_w, *model.decode_w]:
        nn.init.xavier_uniform_(weight)
    for bias in [*model.encode_b, *model.decode_b]:
        nn.init.uniform_(bias, -0.1, 0.1)
    return model


def digits():
    model = digits_model.Digits()
    model.load_state_dict(safetensors.torch.load_file(ROOT / "examples/data/digits.safetensors"))
    return model


def convnext():
    model = torchvision.models.convnext_tiny()
    for name, parameter in model.named_parameters():
        if name.endswith("layer_scale"):
            nn.init.uniform_(parameter, 0.1, 0.5)  # a millionth otherwise, and nothing would be seen of the blocks
    return model


def image(batch, size=224):
    return torch.rand(batch, 3, size, size)


def tokens(vocabulary):
    return lambda batch: torch.randint(vocabulary, (batch, 128))


def a_token_after(before):
    """A token, and keys and values of so many before it."""
    return (torch.randint(32000, (1, 1)), *(torch.randn(1, 4, before, 64) for _ in range(24)))


def latents(batch):
    """Latents, a time each, and a text each."""
    return torch.randn(batch, 4, 32, 32), torch.rand(batch) * 1000, torch.randn(batch, 77, 256)


# What makes a model, what makes an input of a batch, or several inputs.
MODELS = {
    "resnet50": (torchvision.models.resnet50, image),
    "mobilenet_v2": (torchvision.models.mobilenet_v2, image),
    "vit_b_16": (vit, image),
    "bert": (Hidden, tokens(30522)),
    "gpt2": (Logits, tokens(50257)),
    "minilm": (lambda: Hidden(hidden_size=384, num_hidden_layers=6, intermediate_size=1536), tokens(30522)),
    "recommender": (recommender, lambda batch: torch.rand(batch, 17768)),
    "lstm": (Lstm, lambda batch: torch.randn(100, batch, 512)),
    "digits": (digits, lambda batch: torch.rand(batch, 1, 8, 8)),
    "mlp": (lambda: MLP([32, 32, 10]), lambda batch: torch.rand(batch, 32)),
    "efficientnet_b0": (torchvision.models.efficientnet_b0, image),
    "densenet121": (torchvision.models.densenet121, image),
    "convnext_tiny": (convnext, image),
    "swin_t": (torchvision.models.swin_t, image),
    "unet": (UNet, lambda batch: image(batch, 256)),
    "generator": (Generator, lambda batch: torch.randn(batch, 100, 1, 1)),
    "heatmaps": (Heatmaps, lambda batch: torch.rand(batch, 2048, 8, 6)),
    "yolo": (Yolo, lambda batch: image(batch, 320)),
    "whisper": (Whisper, lambda batch: torch.randn(batch, 80, 3000)),
    "llama": (Llama, tokens(32000)),
    "llama_step": (LlamaStep, a_token_after),
    "decoder": (Decoder, lambda batch: torch.randn(batch, 4, 16, 16)),
    "t5": (T5, tokens(32128)),
    "dlrm": (Dlrm, lambda batch: (torch.rand(batch, 13), torch.randint(20000, (batch, 26)))),
    "resnext50": (torchvision.models.resnext50_32x4d, image),
    "mobilenet_v3": (torchvision.models.mobilenet_v3_large, image),
    "shufflenet_v2": (torchvision.models.shufflenet_v2_x1_0, image),
    "r3d_18": (torchvision.models.video.r3d_18, lambda batch: torch.rand(batch, 3, 8, 112, 112)),
    "unet3d": (UNet3d, lambda batch: torch.randn(batch, 1, 32, 64, 64)),
    "segformer": (Segformer, lambda batch: image(batch, 256)),
    "edsr": (Edsr, lambda batch: image(batch, 64)),
    "crnn": (Crnn, lambda batch: torch.rand(batch, 1, 32, 128)),
    "pointnet": (PointNet, lambda batch: torch.randn(batch, 3, 1024)),
    "mixer": (Mixer, image),
    "wav2vec2": (Wav2Vec2, lambda batch: torch.randn(batch, 16000)),
    "conformer": (Conformer, lambda batch: torch.randn(batch, 400, 80)),
    "hifigan": (HifiGan, lambda batch: torch.randn(batch, 80, 32)),
    "deeplab": (DeepLab, lambda batch: image(batch, 256)),
    "denoiser": (Denoiser, latents),
    "deepspeech": (DeepSpeech, lambda batch: torch.rand(batch, 1, 161, 200)),
}


def settle(model, x):
    """Gives batch norms the statistics of what they see, so that activations stay in range as in a trained model."""
    norms = [module for module in model.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = 1.0
        nn.init.uniform_(norm.weight, 0.8, 1.2)
        nn.init.uniform_(norm.bias, -0.1, 0.1)
    if norms:
        with torch.no_grad():
            model.train()(x)


def make(name, batch):
    """A model in evaluation mode and its inputs, a tuple; both are the same every time."""
    new, new_input = MODELS[name]
    torch.manual_seed(0)
    model = new()
    if name != "digits":  # it is trained
        settle(model, new_input(2))
    torch.manual_seed(batch)
    inputs = new_input(batch)
    return model.eval(), inputs if isinstance(inputs, tuple) else (inputs,)


def empty(name):
    """A model whose weights are still to be loaded."""
    return MODELS[name][0]().eval()
