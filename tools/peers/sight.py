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


class DeepLab(nn.Module):
    """DeepLabV3 on a ResNet-50 whose last stages are dilated (Chen et al., 2017): [N, 3, 256, 256] to classes of pixels [N, 21, 256, 256]."""

    def __init__(self):
        super().__init__()
        from torchvision.models.segmentation import deeplabv3_resnet50

        self.model = deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=21)

    def forward(self, x):
        return self.model(x)["out"]


class Timed(nn.Module):
    """Two convolutions of what a time says, and a way around them."""

    def __init__(self, i, o, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, i), nn.Conv2d(i, o, 3, padding=1)
        self.time = nn.Linear(time, o)
        self.norm2, self.conv2 = nn.GroupNorm(32, o), nn.Conv2d(o, o, 3, padding=1)
        if i != o:
            self.shortcut = nn.Conv2d(i, o, 1)

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        y = self.conv2(F.silu(self.norm2(y)))
        return (self.shortcut(x) if hasattr(self, "shortcut") else x) + y


class Attend(nn.Module):
    def __init__(self, c, context, heads=8):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = nn.Linear(c, c, bias=False), nn.Linear(context, c, bias=False), nn.Linear(context, c, bias=False)
        self.to_out = nn.Linear(c, c)

    def forward(self, x, context):
        parts = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        y = F.scaled_dot_product_attention(parts(self.to_q(x)), parts(self.to_k(context)), parts(self.to_v(context)))
        return self.to_out(y.transpose(1, 2).flatten(2))


class Spatial(nn.Module):
    """A transformer's layer for pixels, which also attend to a text."""

    def __init__(self, c, context):
        super().__init__()
        self.norm, self.proj_in, self.proj_out = nn.GroupNorm(32, c, eps=1e-6), nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
        self.norm1, self.attn1 = nn.LayerNorm(c), Attend(c, c)
        self.norm2, self.attn2 = nn.LayerNorm(c), Attend(c, context)
        self.norm3, self.gate, self.out = nn.LayerNorm(c), nn.Linear(c, 8 * c), nn.Linear(4 * c, c)

    def forward(self, x, context):
        y = self.proj_in(self.norm(x)).flatten(2).transpose(1, 2)
        z = self.norm1(y)
        y = y + self.attn1(z, z)
        y = y + self.attn2(self.norm2(y), context)
        z, gate = self.gate(self.norm3(y)).chunk(2, -1)
        y = y + self.out(z * F.gelu(gate))
        return x + self.proj_out(y.transpose(1, 2).reshape(x.shape))


class Denoiser(nn.Module):
    """The U-Net of a latent diffusion model (Rombach et al., 2022), a fifth as wide: latents [N, 4, 32, 32], a time [N] and a text
    [N, 77, 256] to noise [N, 4, 32, 32]."""

    def __init__(self, w=64, text=256):
        super().__init__()
        self.w, time, widths = w, 4 * w, [w, 2 * w, 4 * w]
        self.time1, self.time2, self.conv_in = nn.Linear(w, time), nn.Linear(time, time), nn.Conv2d(4, w, 3, padding=1)
        self.down, self.up, self.smaller, self.larger = nn.ModuleList(), nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        skips, i = [w], w
        for level, o in enumerate(widths):
            for _ in range(2):
                self.down.append(nn.ModuleList([Timed(i, o, time), Spatial(o, text)]))
                skips.append(i := o)
            if level < 2:
                self.smaller.append(nn.Conv2d(o, o, 3, 2, 1))
                skips.append(o)
        self.mid1, self.mid2, self.mid3 = Timed(i, i, time), Spatial(i, text), Timed(i, i, time)
        for level, o in reversed(list(enumerate(widths))):
            for _ in range(3):
                self.up.append(nn.ModuleList([Timed(i + skips.pop(), o, time), Spatial(o, text)]))
                i = o
            if level > 0:
                self.larger.append(nn.Conv2d(o, o, 3, padding=1))
        self.norm_out, self.conv_out = nn.GroupNorm(32, w), nn.Conv2d(w, 4, 3, padding=1)

    def forward(self, x, time, text):
        rates = torch.exp(torch.arange(self.w // 2) * (-9.210340371976184 / (self.w // 2)))
        angles = time[:, None] * rates
        time = self.time2(F.silu(self.time1(torch.cat([angles.cos(), angles.sin()], 1))))
        x = self.conv_in(x)
        skips = [x]
        for index, (residual, spatial) in enumerate(self.down):
            x = spatial(residual(x, time), text)
            skips.append(x)
            if index in (1, 3):
                x = self.smaller[index // 2](x)
                skips.append(x)
        x = self.mid3(self.mid2(self.mid1(x, time), text), time)
        for index, (residual, spatial) in enumerate(self.up):
            x = spatial(residual(torch.cat([x, skips.pop()], 1), time), text)
            if index in (2, 5):
                x = self.larger[index // 3](F.interpolate(x, scale_factor=2.0))
        return self.conv_out(F.silu(self.norm_out(x)))
