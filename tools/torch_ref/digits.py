"""Trains the model of examples/01_digits.rs and writes its weights and held-out images.

The data is the UCI handwritten digits (1797 images of 8 by 8 pixels, 16 grey levels; E. Alpaydin and C. Kaynak, CC BY 4.0)
as scikit-learn ships it. One image in five is held out. Run: python tools/torch_ref/digits.py
"""

import pathlib

import numpy as np
import safetensors.torch
import torch
from torch import nn

SEED = 0
OUT = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"


class Block(nn.Module):
    """Two convolutions and a way around them (He et al., 2015)."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + x)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, padding=1)
        self.blocks = nn.ModuleList([Block(16), Block(16)])
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(16 * 4 * 4, 10)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return self.head(self.pool(x).flatten(1))


def main():
    import sklearn
    import sklearn.datasets

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    data = sklearn.datasets.load_digits()
    order = np.random.default_rng(SEED).permutation(len(data.target))
    held = len(order) // 5
    images = torch.tensor(data.images[order], dtype=torch.uint8).unsqueeze(1)
    labels = torch.tensor(data.target[order], dtype=torch.int64)
    x = images.float() / 16.0
    model = Digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    epochs, batch = 30, 64
    steps = epochs * ((len(order) - held + batch - 1) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=steps)
    for _ in range(epochs):
        for part in (torch.randperm(len(order) - held) + held).split(batch):
            loss = nn.functional.cross_entropy(model(x[part]), labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        correct = (model(x[:held]).argmax(1) == labels[:held]).float().mean().item()
    print(f"{correct:.2%} of {held} held-out images")
    about = {"generator": "tools/torch_ref/digits.py", "torch": torch.__version__, "sklearn": sklearn.__version__, "seed": str(SEED)}
    OUT.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file(model.state_dict(), OUT / "digits.safetensors", about)
    safetensors.torch.save_file({"images": images[:held].contiguous(), "labels": labels[:held].contiguous()}, OUT / "digits_test.safetensors", about)


if __name__ == "__main__":
    main()
