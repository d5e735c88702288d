"""Models that hear and speak: each takes one tensor and gives one."""

import torch
import torch.nn.functional as F
from torch import nn


class Wav2Vec2(nn.Module):
    """Wav2Vec 2.0 base (Baevski et al., 2020): a second of sound [N, 16000] to [N, 49, 768]."""

    def __init__(self):
        super().__init__()
        from transformers import Wav2Vec2Config, Wav2Vec2Model

        self.model = Wav2Vec2Model(Wav2Vec2Config(mask_time_prob=0))
        torch.nn.utils.parametrize.remove_parametrizations(self.model.encoder.pos_conv_embed.conv, "weight")

    def forward(self, x):
        return self.model(x).last_hidden_state


class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.linear1, self.linear2 = nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.linear2(F.silu(self.linear1(self.norm(x))))


class Convolution(nn.Module):
    def __init__(self, d, kernel):
        super().__init__()
        self.norm, self.pointwise1 = nn.LayerNorm(d), nn.Conv1d(d, 2 * d, 1)
        self.depthwise, self.batch_norm = nn.Conv1d(d, d, kernel, padding=kernel // 2, groups=d), nn.BatchNorm1d(d)
        self.pointwise2 = nn.Conv1d(d, d, 1)

    def forward(self, x):
        x = F.glu(self.pointwise1(self.norm(x).transpose(1, 2)), 1)
        return self.pointwise2(F.silu(self.batch_norm(self.depthwise(x)))).transpose(1, 2)


class ConformerLayer(nn.Module):
    def __init__(self, d, heads, kernel):
        super().__init__()
        self.heads = heads
        self.ffn1, self.convolution, self.ffn2 = FeedForward(d), Convolution(d, kernel), FeedForward(d)
        self.attention_norm, self.qkv, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)

    def attend(self, x):
        q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.qkv(self.attention_norm(x)).chunk(3, -1))
        y = torch.softmax(q @ k.transpose(2, 3) / q.shape[-1] ** 0.5, -1) @ v
        return self.out(y.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.ffn1(x) * 0.5
        x = x + self.attend(x)
        x = x + self.convolution(x)
        return self.norm(x + self.ffn2(x) * 0.5)


class Conformer(nn.Module):
    """An encoder of Conformers (Gulati et al., 2020), the small one without relative positions: log-mel spectrogram [N, 400, 80]
    to [N, 99, 144]."""

    def __init__(self, d=144, heads=4, layers=16, kernel=31):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, d, 3, 2), nn.Conv2d(d, d, 3, 2)
        self.project = nn.Linear(d * 19, d)
        self.layers = nn.ModuleList(ConformerLayer(d, heads, kernel) for _ in range(layers))

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x.unsqueeze(1)))))
        x = self.project(x.transpose(1, 2).flatten(2))
        for layer in self.layers:
            x = layer(x)
        return x


class Dilated(nn.Module):
    def __init__(self, c, kernel):
        super().__init__()
        conv = lambda d: nn.Conv1d(c, c, kernel, padding=d * (kernel - 1) // 2, dilation=d)
        self.convs1 = nn.ModuleList(conv(d) for d in (1, 3, 5))
        self.convs2 = nn.ModuleList(conv(1) for _ in range(3))

    def forward(self, x):
        for conv1, conv2 in zip(self.convs1, self.convs2):
            x = x + conv2(F.leaky_relu(conv1(F.leaky_relu(x, 0.1)), 0.1))
        return x


class HifiGan(nn.Module):
    """The generator of HiFi-GAN (Kong et al., 2020), its second version: log-mel spectrogram [N, 80, 32] to sound [N, 1, 8192]."""

    def __init__(self, width=128):
        super().__init__()
        self.conv_pre = nn.Conv1d(80, width, 7, padding=3)
        rates = ((8, 16), (8, 16), (2, 4), (2, 4))
        self.ups = nn.ModuleList(
            nn.ConvTranspose1d(width >> i, width >> (i + 1), k, u, (k - u) // 2) for i, (u, k) in enumerate(rates))
        self.resblocks = nn.ModuleList(Dilated(width >> (i + 1), k) for i in range(4) for k in (3, 7, 11))
        self.conv_post = nn.Conv1d(width >> 4, 1, 7, padding=3)

    def forward(self, x):
        x = self.conv_pre(x)
        for i, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(block(x) for block in self.resblocks[3 * i : 3 * i + 3]) / 3
        return torch.tanh(self.conv_post(F.leaky_relu(x)))


class DeepSpeech(nn.Module):
    """Deep Speech 2 (Amodei et al., 2016) with three layers of 512: a spectrogram [N, 1, 161, 200] to characters at times [100, N, 29]."""

    def __init__(self, width=512):
        super().__init__()
        conv = lambda i, kernel, stride: nn.Sequential(
            nn.Conv2d(i, 32, kernel, stride, [k // 2 for k in kernel], bias=False), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
        self.conv1, self.conv2 = conv(1, (41, 11), (2, 2)), conv(32, (21, 11), (2, 1))
        self.gru, self.out = nn.GRU(32 * 41, width, num_layers=3, bidirectional=True), nn.Linear(2 * width, 29)

    def forward(self, x):
        x = self.conv2(self.conv1(x)).flatten(1, 2).permute(2, 0, 1)
        return self.out(self.gru(x)[0])
