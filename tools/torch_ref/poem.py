"""Trains the model of examples/12_generate.rs and writes its weights, and what it writes in PyTorch.

It learns one text by heart: "Jabberwocky" (Lewis Carroll, 1871), byte by byte. Run: python tools/torch_ref/poem.py
"""

import pathlib

import safetensors.torch
import torch
from torch import nn
from torch.nn import functional

SEED = 0
OUT = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
WIDTH, HEADS, LAYERS, ROOM = 32, 4, 2, 256
POEM = """'Twas brillig, and the slithy toves
Did gyre and gimble in the wabe;
All mimsy were the borogoves,
And the mome raths outgrabe.

"Beware the Jabberwock, my son!
The jaws that bite, the claws that catch!
Beware the Jubjub bird, and shun
The frumious Bandersnatch!"
"""


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        n, length, _ = x.shape
        q, k, v = (part.view(n, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, 2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Writer(nn.Module):
    """Bytes `[N, length]` to scores of the next one, `[N, length, 128]`."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(128, WIDTH), nn.Embedding(ROOM, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 128)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def write(model, tokens):
    """What the model writes after some tokens, the likeliest one each time, as long as there is room."""
    while len(tokens) < ROOM:
        tokens = torch.cat([tokens, model(tokens[None])[0, -1].argmax()[None]])
    return tokens


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    text = torch.tensor(list(POEM.encode()))[: ROOM + 1]
    model = Writer()
    steps = 600
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    for _ in range(steps):
        loss = functional.cross_entropy(model(text[None, :-1])[0], text[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        written = write(model, text[:13])
    print(f"loss {loss.item():.4f}\n{bytes(written.tolist()).decode()}")
    about = {"generator": "tools/torch_ref/poem.py", "torch": torch.__version__, "seed": str(SEED)}
    safetensors.torch.save_file(model.state_dict(), OUT / "poem.safetensors", about)
    (OUT / "poem.txt").write_bytes(bytes(written.tolist()))


if __name__ == "__main__":
    main()
