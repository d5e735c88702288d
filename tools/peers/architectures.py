"""Models of architectures that users bring: each takes one tensor and gives one."""

import torch
import torch.nn.functional as F
from torch import nn


def conv_norm(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Double(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv1, self.conv2 = conv_norm(i, o), conv_norm(o, o)

    def forward(self, x):
        return self.conv2(self.conv1(x))


class UNet(nn.Module):
    """The usual U-Net with 32 channels at the top: input [N, 3, 256, 256], output [N, 2, 256, 256]."""

    def __init__(self, width=32):
        super().__init__()
        w = [width * 2**i for i in range(5)]
        self.inc = Double(3, w[0])
        self.down = nn.ModuleList(Double(w[i], w[i + 1]) for i in range(4))
        self.up = nn.ModuleList(nn.ConvTranspose2d(w[i + 1], w[i], 2, stride=2) for i in reversed(range(4)))
        self.fuse = nn.ModuleList(Double(w[i + 1], w[i]) for i in reversed(range(4)))
        self.out = nn.Conv2d(w[0], 2, 1)

    def forward(self, x):
        skips = [self.inc(x)]
        for down in self.down:
            skips.append(down(F.max_pool2d(skips[-1], 2)))
        x = skips.pop()
        for up, fuse in zip(self.up, self.fuse):
            x = fuse(torch.cat([skips.pop(), up(x)], 1))
        return self.out(x)


class Generator(nn.Module):
    """The generator of DCGAN: input [N, 100, 1, 1], output [N, 3, 64, 64]."""

    def __init__(self, width=64):
        super().__init__()
        w = [100, 8 * width, 4 * width, 2 * width, width]
        up = lambda i: nn.ConvTranspose2d(w[i], w[i + 1], 4, 2 if i else 1, 1 if i else 0, bias=False)
        self.layers = nn.Sequential(
            *(nn.Sequential(up(i), nn.BatchNorm2d(w[i + 1]), nn.ReLU()) for i in range(4)),
            nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False),
        )

    def forward(self, x):
        return torch.tanh(self.layers(x))


class Heatmaps(nn.Module):
    """What follows the backbone of Simple Baselines: input [N, 2048, 8, 6], output [N, 17, 64, 48]."""

    def __init__(self):
        super().__init__()
        up = lambda i: nn.ConvTranspose2d(i, 256, 4, 2, 1, bias=False)
        self.layers = nn.Sequential(
            *(nn.Sequential(up(i), nn.BatchNorm2d(256), nn.ReLU()) for i in (2048, 256, 256)),
            nn.Conv2d(256, 17, 1),
        )

    def forward(self, x):
        return self.layers(x)


class Residual(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, i, eps=1e-6), nn.Conv2d(i, o, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(32, o, eps=1e-6), nn.Conv2d(o, o, 3, padding=1)
        if i != o:
            self.conv_shortcut = nn.Conv2d(i, o, 1)

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        y = self.conv2(F.silu(self.norm2(y)))
        return (self.conv_shortcut(x) if hasattr(self, "conv_shortcut") else x) + y


class SpatialAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.group_norm = nn.GroupNorm(32, c, eps=1e-6)
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(c, c) for _ in range(4))

    def forward(self, x):
        h = self.group_norm(x).flatten(2).transpose(1, 2).unsqueeze(1)
        h = F.scaled_dot_product_attention(self.to_q(h), self.to_k(h), self.to_v(h))
        return x + self.to_out(h.squeeze(1)).transpose(1, 2).reshape(x.shape)


class Up(nn.Module):
    def __init__(self, i, o, upsample):
        super().__init__()
        self.resnets = nn.ModuleList(Residual(i if index == 0 else o, o) for index in range(3))
        if upsample:
            self.conv = nn.Conv2d(o, o, 3, padding=1)

    def forward(self, x):
        for resnet in self.resnets:
            x = resnet(x)
        return self.conv(F.interpolate(x, scale_factor=2.0)) if hasattr(self, "conv") else x


class Decoder(nn.Module):
    """The decoder of a latent diffusion model's autoencoder (Rombach et al., 2022), half as wide: latents [N, 4, 16, 16] to
    images [N, 3, 128, 128]."""

    def __init__(self, w=64):
        super().__init__()
        self.conv_in = nn.Conv2d(4, 4 * w, 3, padding=1)
        self.mid = nn.ModuleList([Residual(4 * w, 4 * w), SpatialAttention(4 * w), Residual(4 * w, 4 * w)])
        widths = [4 * w, 4 * w, 4 * w, 2 * w, w]
        self.up = nn.ModuleList(Up(widths[i], widths[i + 1], i < 3) for i in range(4))
        self.norm_out, self.conv_out = nn.GroupNorm(32, w, eps=1e-6), nn.Conv2d(w, 3, 3, padding=1)

    def forward(self, x):
        x = self.conv_in(x)
        for block in self.mid:
            x = block(x)
        for block in self.up:
            x = block(x)
        return self.conv_out(F.silu(self.norm_out(x)))


class Llama(nn.Module):
    """A decoder with grouped heads, rotary positions, RMS norms and gated SiLU: logits of 128 tokens."""

    def __init__(self):
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM

        self.lm = LlamaForCausalLM(LlamaConfig(
            vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12,
            num_attention_heads=12, num_key_value_heads=4, tie_word_embeddings=False,
        ))

    def forward(self, ids):
        return self.lm(ids, use_cache=False).logits


class LlamaStep(Llama):
    """The same for a token after others, whose keys and values are given: logits, and the keys and values of all."""

    def forward(self, ids, *past):
        model, (x, new) = self.lm.model, (self.lm.model.embed_tokens(ids), [])
        cos, sin = model.rotary_emb(x, torch.arange(ids.shape[1])[None] + past[0].shape[2])
        rotate = lambda x: x * cos + torch.cat([-x[..., x.shape[-1] // 2:], x[..., : x.shape[-1] // 2]], -1) * sin
        for layer, (key, value) in zip(model.layers, zip(past[::2], past[1::2])):
            attention, y = layer.self_attn, layer.input_layernorm(x)
            q, k, v = (part(y).view(*ids.shape, -1, 64).transpose(1, 2) for part in (attention.q_proj, attention.k_proj, attention.v_proj))
            k, v = torch.cat([key, rotate(k)], 2), torch.cat([value, v], 2)
            new += [k, v]
            k, v = k.repeat_interleave(3, 1), v.repeat_interleave(3, 1)
            y = torch.softmax(rotate(q) @ k.transpose(2, 3) / 8, -1) @ v
            x = x + attention.o_proj(y.transpose(1, 2).flatten(2))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return self.lm.lm_head(model.norm(x)), *new


class T5(nn.Module):
    """The encoder of T5 small (Raffel et al., 2020), whose attention knows how far tokens are apart: [N, 128] to [N, 128, 512]."""

    def __init__(self):
        super().__init__()
        from transformers import T5Config, T5EncoderModel

        self.model = T5EncoderModel(T5Config())

    def forward(self, ids):
        return self.model(ids).last_hidden_state


class Dlrm(nn.Module):
    """DLRM (Naumov et al., 2019) with 26 tables, a row of each for an impression: dense features [N, 13] and rows [N, 26] to clicks
    [N, 1]."""

    def __init__(self, rows=20000, dim=64, tables=26):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, dim) for _ in range(tables))
        layers = lambda *widths: [layer for i, o in zip(widths, widths[1:]) for layer in (nn.Linear(i, o), nn.ReLU())]
        self.bottom = nn.Sequential(*layers(13, 512, 256, dim))
        self.top = nn.Sequential(*layers(dim + (tables + 1) * tables // 2, 512, 256), nn.Linear(256, 1))
        self.pairs = torch.tril_indices(tables + 1, tables + 1, -1)

    def forward(self, dense, rows):
        x = self.bottom(dense)
        all = torch.stack([x, *(table(rows[:, i]) for i, table in enumerate(self.tables))], 1)
        products = all @ all.transpose(1, 2)
        return torch.sigmoid(self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1)))


class Whisper(nn.Module):
    """The encoder of Whisper tiny: log-mel spectrogram [N, 80, 3000] to [N, 1500, 384]."""

    def __init__(self):
        super().__init__()
        from transformers import WhisperConfig
        from transformers.models.whisper.modeling_whisper import WhisperEncoder

        config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
        self.encoder = WhisperEncoder(config)

    def forward(self, x):
        return self.encoder(x).last_hidden_state


class SiLUBottleneck(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.cv1, self.cv2 = self.conv(c, c), self.conv(c, c)

    @staticmethod
    def conv(i, o, k=3, s=1):
        return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU())

    def forward(self, x):
        return x + self.cv2(self.cv1(x))


class C2f(nn.Module):
    def __init__(self, i, o, n):
        super().__init__()
        conv = SiLUBottleneck.conv
        self.c = o // 2
        self.cv1, self.cv2 = conv(i, o, 1), conv((2 + n) * self.c, o, 1)
        self.m = nn.ModuleList(SiLUBottleneck(self.c) for _ in range(n))

    def forward(self, x):
        y = list(self.cv1(x).chunk(2, 1))
        for m in self.m:
            y.append(m(y[-1]))
        return self.cv2(torch.cat(y, 1))


class Yolo(nn.Module):
    """The backbone of YOLOv8n with SPPF: [N, 3, 320, 320] to [N, 256, 10, 10]."""

    def __init__(self):
        super().__init__()
        conv = SiLUBottleneck.conv
        self.layers = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), C2f(32, 32, 1), conv(32, 64, 3, 2), C2f(64, 64, 2),
            conv(64, 128, 3, 2), C2f(128, 128, 2), conv(128, 256, 3, 2), C2f(256, 256, 1),
       )
        self.cv1, self.cv2 = conv(256, 128, 1), conv(512, 256, 1)

    def forward(self, x):
        x = self.cv1(self.layers(x))
        y1 = F.max_pool2d(x, 5, 1, 2)
        y2 = F.max_pool2d(y1, 5, 1, 2)
        y3 = F.max_pool2d(y2, 5, 1, 2)
        return self.cv2(torch.cat([x, y1, y2, y3], 1))
