"""Models that see pictures, points and text, beside those of torchvision: each takes one tensor and gives one."""

import torch
import torch.nn.functional as F
from torch import nn


class Segformer(nn.Module):
    """SegFormer B0 (Xie et al., 2021): [N, 3, 256, 256] to classes of pixels [N, 150, 64, 64]."""

    def __init__(self):
        super().__init__()
        from transformers import SegformerConfig, SegformerForSemanticSegmentation

        self.model = SegformerForSemanticSegmentation(SegformerConfig(num_labels=150))

    def forward(self, x):
        return self.model(x).logits


class Level(nn.Module):
    """Two convolutions of volumes, normalised for each channel."""

    def __init__(self, i, o):
        super().__init__()
        conv = lambda i, o: nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU())
        self.conv1, self.conv2 = conv(i, o), conv(o, o)

    def forward(self, x):
        return self.conv2(self.conv1(x))


class UNet3d(nn.Module):
    """A U-Net for volumes as nnU-Net's (Isensee et al., 2021), with 16 channels at the top: [N, 1, 32, 64, 64] to [N, 3, 32, 64, 64]."""

    def __init__(self, width=16):
        super().__init__()
        w = [width * 2**i for i in range(4)]
        self.inc = Level(1, w[0])
        self.down = nn.ModuleList(Level(w[i], w[i + 1]) for i in range(3))
        self.up = nn.ModuleList(nn.ConvTranspose3d(w[i + 1], w[i], 2, stride=2) for i in reversed(range(3)))
        self.fuse = nn.ModuleList(Level(w[i + 1], w[i]) for i in reversed(range(3)))
        self.out = nn.Conv3d(w[0], 3, 1)

    def forward(self, x):
        skips = [self.inc(x)]
        for down in self.down:
            skips.append(down(F.max_pool3d(skips[-1], 2)))
        x = skips.pop()
        for up, fuse in zip(self.up, self.fuse):
            x = fuse(torch.cat([skips.pop(), up(x)], 1))
        return self.out(x)


class Edsr(nn.Module):
    """The small EDSR (Lim et al., 2017), which doubles the size of a picture: [N, 3, 64, 64] to [N, 3, 128, 128]."""

    def __init__(self, width=64, blocks=16):
        super().__init__()
        conv = lambda i, o: nn.Conv2d(i, o, 3, padding=1)
        self.head = conv(3, width)
        self.body = nn.ModuleList(nn.Sequential(conv(width, width), nn.ReLU(), conv(width, width)) for _ in range(blocks))
        self.last, self.up, self.tail = conv(width, width), conv(width, 4 * width), conv(width, 3)

    def forward(self, x):
        x = y = self.head(x)
        for block in self.body:
            y = y + block(y)
        return self.tail(F.pixel_shuffle(self.up(x + self.last(y)), 2))


class Crnn(nn.Module):
    """A reader of lines of text (Shi et al., 2015): [N, 1, 32, 128] to characters at places [33, N, 37]."""

    def __init__(self):
        super().__init__()
        conv = lambda i, o, k=3, p=1: nn.Sequential(nn.Conv2d(i, o, k, padding=p), nn.BatchNorm2d(o), nn.ReLU())
        self.layers = nn.Sequential(
            conv(1, 64), nn.MaxPool2d(2), conv(64, 128), nn.MaxPool2d(2), conv(128, 256), conv(256, 256),
            nn.MaxPool2d((2, 2), (2, 1), (0, 1)), conv(256, 512), conv(512, 512), nn.MaxPool2d((2, 2), (2, 1), (0, 1)),
            conv(512, 512, 2, 0),
        )
        self.lstm, self.out = nn.LSTM(512, 256, num_layers=2, bidirectional=True), nn.Linear(512, 37)

    def forward(self, x):
        x = self.layers(x).squeeze(2).permute(2, 0, 1)
        return self.out(self.lstm(x)[0])


class Transform(nn.Module):
    """A matrix for points."""

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.points, self.all = points(k, 64, 128, 1024), every(1024, 512, 256)
        self.out = nn.Linear(256, k * k)

    def forward(self, x):
        matrix = self.out(self.all(self.points(x).amax(2))).view(-1, self.k, self.k) + torch.eye(self.k)
        return (x.transpose(1, 2) @ matrix).transpose(1, 2)


def points(*widths):
    layers = [(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU()) for i, o in zip(widths, widths[1:])]
    return nn.Sequential(*(layer for three in layers for layer in three))


def every(*widths):
    layers = [(nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU()) for i, o in zip(widths, widths[1:])]
    return nn.Sequential(*(layer for three in layers for layer in three))


class PointNet(nn.Module):
    """PointNet (Qi et al., 2017): points [N, 3, 1024] to classes [N, 40]."""

    def __init__(self):
        super().__init__()
        self.input_transform, self.feature_transform = Transform(3), Transform(64)
        self.points1, self.points2 = points(3, 64, 64), points(64, 64, 128, 1024)
        self.all, self.out = every(1024, 512, 256), nn.Linear(256, 40)

    def forward(self, x):
        x = self.points1(self.input_transform(x))
        x = self.points2(self.feature_transform(x))
        return self.out(self.all(x.amax(2)))


class MixerLayer(nn.Module):
    def __init__(self, tokens, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        mlp = lambda i, o: nn.Sequential(nn.Linear(i, o), nn.GELU(), nn.Linear(o, i))
        self.tokens, self.channels = mlp(tokens, d // 2), mlp(d, 4 * d)

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    """MLP-Mixer S/16 (Tolstikhin et al., 2021): [N, 3, 224, 224] to [N, 1000]."""

    def __init__(self, d=512, layers=8):
        super().__init__()
        self.stem = nn.Conv2d(3, d, 16, 16)
        self.layers = nn.ModuleList(MixerLayer(196, d) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 1000)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))
