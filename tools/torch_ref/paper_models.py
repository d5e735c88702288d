"""Models that are in no package, as their authors wrote them."""

import torch
from torch import nn
from torch.nn import functional as F


class AutoEncoder(nn.Module):
    """NVIDIA's DeepRecommender (reco_encoder/model/model.py)."""

    def __init__(self, layer_sizes, is_constrained, dropout, last_layer_activations=True):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self._last = len(layer_sizes) - 2
        self._last_layer_activations = last_layer_activations
        self.is_constrained = is_constrained

        def weights(sizes):
            return nn.ParameterList([nn.Parameter(torch.rand(b, a)) for a, b in zip(sizes, sizes[1:])])

        def biases(sizes):
            return nn.ParameterList([nn.Parameter(torch.zeros(b)) for b in sizes[1:]])

        self.encode_w, self.encode_b = weights(layer_sizes), biases(layer_sizes)
        reverse = list(reversed(layer_sizes))
        if not is_constrained:
            self.decode_w = weights(reverse)
        self.decode_b = biases(reverse)

    def encode(self, x):
        for ind, w in enumerate(self.encode_w):
            x = F.selu(F.linear(x, w, self.encode_b[ind]))
        return self.drop(x)

    def decode(self, z):
        weights = [w.transpose(0, 1) for w in reversed(list(self.encode_w))] if self.is_constrained else self.decode_w
        for ind, w in enumerate(weights):
            z = F.linear(z, w, self.decode_b[ind])
            if ind != self._last or self._last_layer_activations:
                z = F.selu(z)
        return z

    def forward(self, x):
        return self.decode(self.encode(x))


class DLRM(nn.Module):
    """Facebook's DLRM_Net (dlrm_s_pytorch.py) with the dot interaction."""

    def __init__(self, tables, bottom, top):
        super().__init__()
        dim, features = bottom[-1], len(tables) + 1
        self.emb_l = nn.ModuleList([nn.EmbeddingBag(n, dim, mode="sum") for n in tables])
        self.bot_l = self.create_mlp(bottom, -1)
        top = [dim + features * (features - 1) // 2] + top
        self.top_l = self.create_mlp(top, len(top) - 2)

    @staticmethod
    def create_mlp(ln, sigmoid_layer):
        layers = nn.ModuleList()
        for i in range(len(ln) - 1):
            layers.append(nn.Linear(ln[i], ln[i + 1]))
            layers.append(nn.Sigmoid() if i == sigmoid_layer else nn.ReLU())
        return nn.Sequential(*layers)

    def forward(self, dense_x, lS_o, lS_i):
        x = self.bot_l(dense_x)
        ly = [emb(lS_i[k], lS_o[k]) for k, emb in enumerate(self.emb_l)]
        batch, d = x.shape
        T = torch.cat([x] + ly, dim=1).view((batch, -1, d))
        Z = torch.bmm(T, torch.transpose(T, 1, 2))
        _, ni, nj = Z.shape
        li = torch.tensor([i for i in range(ni) for j in range(i)])
        lj = torch.tensor([j for i in range(nj) for j in range(i)])
        R = torch.cat([x, Z[:, li, lj]], dim=1)
        return self.top_l(R)


class PaintBlock(nn.Module):
    """BasicBlock of LearningToPaint (baseline/DRL/actor.py)."""

    def __init__(self, in_planes, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class PaintActor(nn.Module):
    """ResNet of LearningToPaint (baseline/DRL/actor.py), depth 18."""

    def __init__(self, num_inputs=9, num_outputs=65):
        super().__init__()
        self.conv1 = nn.Conv2d(num_inputs, 64, 3, 2, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        planes = [64, 64, 128, 256, 512]
        for i in range(1, 5):
            blocks = [PaintBlock(planes[i - 1], planes[i], 2), PaintBlock(planes[i], planes[i], 1)]
            setattr(self, f"layer{i}", nn.Sequential(*blocks))
        self.fc = nn.Linear(512, num_outputs)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = F.avg_pool2d(x, 4)
        return torch.sigmoid(self.fc(x.view(x.size(0), -1)))


class MLP(nn.Module):
    """Linear layers with ReLU between them."""

    def __init__(self, widths):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(widths, widths[1:])])

    def forward(self, x):
        x = self.layers[0](x)
        for layer in self.layers[1:]:
            x = layer(F.relu(x))
        return x
