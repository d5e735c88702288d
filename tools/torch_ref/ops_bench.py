"""PyTorch's times for the rows of `cargo bench --bench ops`: name and microseconds with one thread, separated by a tab.

    python tools/torch_ref/ops_bench.py [filter] > figures
    cargo bench --bench ops -- "" figures
"""

import sys
import time

import torch
import torch.nn.functional as F


def shortest(run):
    def once():
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    once()
    count = int(min(max(0.15 / ((once() + once()) / 2), 3), 300))
    return min(once() for _ in range(count)) * 1e6


def rows():
    x, y = torch.randn(256, 1024), torch.randn(256, 1024)
    mask, slopes = x > y, torch.randn(1024)
    yield from {
        "relu": lambda: x.relu(),
        "neg": lambda: -x,
        "abs": lambda: x.abs(),
        "sign": lambda: x.sign(),
        "floor": lambda: x.floor(),
        "trunc": lambda: x.trunc(),
        "exp": lambda: x.exp(),
        "log2 of abs": lambda: x.abs().log2(),
        "sin": lambda: x.sin(),
        "cos": lambda: x.cos(),
        "tan": lambda: x.tan(),
        "erf": lambda: x.erf(),
        "add": lambda: x + y,
        "mul by a number": lambda: x * 2.0,
        "maximum": lambda: x.maximum(y),
        "fmod": lambda: x.fmod(y),
        "remainder": lambda: x.remainder(y),
        "pow 3": lambda: x.pow(3.0),
        "pow 2.5 of abs": lambda: x.abs().pow(2.5),
        "gt": lambda: x > y,
        "eq a number": lambda: x == 0.0,
        "where": lambda: torch.where(mask, x, y),
        "masked_fill": lambda: x.masked_fill(mask, 0.0),
        "clamp": lambda: x.clamp(-1.0, 1.0),
        "lerp": lambda: x.lerp(y, 0.3),
        "addcmul": lambda: x.addcmul(y, y),
        "isnan": lambda: x.isnan(),
        "nan_to_num": lambda: x.nan_to_num(),
        "tanh": lambda: x.tanh(),
        "sigmoid": lambda: x.sigmoid(),
        "gelu": lambda: F.gelu(x),
        "silu": lambda: F.silu(x),
        "softplus": lambda: F.softplus(x),
        "mish": lambda: F.mish(x),
        "elu": lambda: F.elu(x),
        "leaky_relu": lambda: F.leaky_relu(x),
        "hardswish": lambda: F.hardswish(x),
        "threshold": lambda: F.threshold(x, 0.1, 0.0),
        "prelu": lambda: F.prelu(x, slopes),
        "glu": lambda: F.glu(x),
        "log of abs": lambda: x.abs().log(),
        "log1p of abs": lambda: x.abs().log1p(),
        "expm1": lambda: x.expm1(),
        "sqrt of abs": lambda: x.abs().sqrt(),
        "rsqrt of abs": lambda: x.abs().rsqrt(),
        "square": lambda: x.square(),
        "reciprocal": lambda: x.reciprocal(),
        "sinh": lambda: x.sinh(),
        "atan": lambda: x.atan(),
        "atan2": lambda: x.atan2(y),
        "asinh": lambda: x.asinh(),
        "erfc": lambda: x.erfc(),
        "hypot": lambda: x.hypot(y),
        "logaddexp": lambda: x.logaddexp(y),
        "div": lambda: x / y,
        "add a row": lambda: x + slopes,
        "frac": lambda: x.frac(),
        "isclose": lambda: x.isclose(y),
        "logical_and": lambda: mask.logical_and(mask),
        "sum of rows": lambda: x.sum(1),
        "sum of columns": lambda: x.sum(0),
        "mean": lambda: x.mean(),
        "var of rows": lambda: x.var(1),
        "std of columns": lambda: x.std(0),
        "amax of rows": lambda: x.amax(1),
        "argmax of rows": lambda: x.argmax(1),
        "argmax of columns": lambda: x.argmax(0),
        "logsumexp of rows": lambda: x.logsumexp(1),
        "norm": lambda: x.norm(),
        "prod of rows": lambda: x.prod(1),
        "any of rows": lambda: mask.any(1),
        "count_nonzero": lambda: x.count_nonzero(),
        "cumsum of rows": lambda: x.cumsum(1),
        "cumsum of columns": lambda: x.cumsum(0),
        "cumprod of rows": lambda: x.cumprod(1),
        "softmax of rows": lambda: x.softmax(1),
        "softmax of columns": lambda: x.softmax(0),
        "layer_norm": lambda: F.layer_norm(x, [1024]),
        "rms_norm": lambda: F.rms_norm(x, [1024]),
        "log_softmax of rows": lambda: x.log_softmax(1),
        "normalize": lambda: F.normalize(x),
        "norm 1 of rows": lambda: x.norm(1, 1),
    }.items()

    ids = torch.randint(0, 256, (512,))
    places, half = torch.randint(0, 1024, (256, 512)), y[:, :512]
    bags, more, order = torch.arange(128) * 4, torch.randn(512, 1024), torch.linspace(-3.0, 3.0, 1000)
    yield from {
        "sort": lambda: x.sort(),
        "argsort": lambda: x.argsort(),
        "topk 10": lambda: x.topk(10),
        "embedding": lambda: F.embedding(ids, x),
        "index_select": lambda: x.index_select(0, ids),
        "gather": lambda: x.gather(1, places),
        "scatter_add": lambda: x.scatter_add(1, places, half),
        "masked_select": lambda: x.masked_select(mask),
        "nonzero": lambda: mask.nonzero(),
        "one_hot": lambda: F.one_hot(ids, 256),
        "embedding_bag": lambda: F.embedding_bag(ids, x, bags),
        "take_along_dim": lambda: x.take_along_dim(places, 1),
        "scatter": lambda: x.scatter(1, places, half),
        "scatter_reduce amax": lambda: x.scatter_reduce(1, places, half, "amax"),
        "index_add": lambda: x.index_add(0, ids, more),
        "index_copy": lambda: x.index_copy(0, ids, more),
        "index_fill": lambda: x.index_fill(0, ids, 0.0),
        "searchsorted": lambda: torch.searchsorted(order, x),
    }.items()

    images, image = torch.randn(4, 64, 56, 56), torch.randn(1, 64, 28, 28)
    columns = torch.randn(1, 576, 3136)
    yield from {
        "cat of rows": lambda: torch.cat([x, y]),
        "cat of columns": lambda: torch.cat([x, y], 1),
        "stack": lambda: torch.stack([x, y]),
        "pad images by 1": lambda: F.pad(images, [1, 1, 1, 1]),
        "roll": lambda: x.roll(3, 1),
        "flip rows": lambda: x.flip(1),
        "flip columns": lambda: x.flip(0),
        "tril": lambda: x.tril(),
        "repeat": lambda: x.repeat(2, 2),
        "repeat_interleave": lambda: x.repeat_interleave(2, 1),
        "transposed copy": lambda: x.t().contiguous(),
        "channels last": lambda: images.permute(0, 2, 3, 1).contiguous(),
        "unfold": lambda: x.unfold(1, 8, 4).contiguous(),
        "pixel_shuffle": lambda: F.pixel_shuffle(images, 2),
        "im2col": lambda: F.unfold(images, 3, padding=1),
        "fold": lambda: F.fold(columns, (56, 56), 3, padding=1),
        "tile": lambda: x.tile(2, 2),
        "eye": lambda: torch.eye(512),
    }.items()

    channels, grid = torch.randn(64), torch.rand(1, 56, 56, 2) * 2.0 - 1.0
    variances = channels.abs() + 1.0
    weight, depthwise = torch.randn(64, 64, 3, 3), torch.randn(64, 1, 3, 3)
    transposed, line, pixels = torch.randn(64, 64, 2, 2), torch.randn(64, 64, 3), torch.randn(64, 64, 1, 1)
    lines, cube, cubes = torch.randn(4, 64, 1000), torch.randn(16, 16, 3, 3, 3), torch.randn(1, 16, 16, 32, 32)
    yield from {
        "interpolate nearest": lambda: F.interpolate(image, scale_factor=2.0),
        "interpolate bilinear": lambda: F.interpolate(image, scale_factor=2.0, mode="bilinear"),
        "interpolate bicubic": lambda: F.interpolate(image, scale_factor=2.0, mode="bicubic"),
        "grid_sample": lambda: F.grid_sample(image, grid, align_corners=False),
        "max_pool2d 2": lambda: F.max_pool2d(images, 2),
        "max_pool2d with indices": lambda: F.max_pool2d(images, 2, return_indices=True),
        "adaptive_max_pool2d 7": lambda: F.adaptive_max_pool2d(images, 7),
        "lp_pool2d 2": lambda: F.lp_pool2d(images, 2.0, 2),
        "max_pool2d 3/2": lambda: F.max_pool2d(images, 3, 2, 1),
        "avg_pool2d 2": lambda: F.avg_pool2d(images, 2),
        "adaptive_avg_pool2d 1": lambda: F.adaptive_avg_pool2d(images, 1),
        "adaptive_avg_pool2d 7": lambda: F.adaptive_avg_pool2d(images, 7),
        "batch_norm": lambda: F.batch_norm(images, channels, variances, channels, channels),
        "group_norm": lambda: F.group_norm(images, 8),
        "instance_norm": lambda: F.instance_norm(images),
        "local_response_norm": lambda: F.local_response_norm(images, 5),
        "softmax of channels": lambda: images.softmax(1),
        "conv2d": lambda: F.conv2d(images, weight, padding=1),
        "conv2d depthwise": lambda: F.conv2d(images, depthwise, padding=1, groups=64),
        "conv2d dilated": lambda: F.conv2d(images, weight, padding=2, dilation=2),
        "conv2d by 2": lambda: F.conv2d(images, weight, padding=1, stride=2),
        "conv2d of pixels": lambda: F.conv2d(images, pixels),
        "conv_transpose2d": lambda: F.conv_transpose2d(image, transposed, stride=2),
        "conv1d": lambda: F.conv1d(lines, line, padding=1),
        "conv3d": lambda: F.conv3d(cubes, cube, padding=1),
    }.items()

    a, b = torch.randn(32, 128, 64), torch.randn(32, 64, 128)
    vector, classes, shares = torch.randn(1024), torch.randint(0, 1024, (256,)), y.sigmoid()
    square, heads, steps = torch.randn(1024, 1024), torch.randn(1, 12, 128, 64), torch.randn(50, 1, 256)
    lstm, gru = torch.nn.LSTM(256, 256), torch.nn.GRU(256, 256)
    yield from {
        "mm": lambda: x.mm(y.t()),
        "bmm": lambda: a.bmm(b),
        "einsum bij,bjk->bik": lambda: torch.einsum("bij,bjk->bik", a, b),
        "mv": lambda: x.mv(vector),
        "outer": lambda: vector.outer(vector),
        "cross_entropy": lambda: F.cross_entropy(x, classes),
        "mse_loss": lambda: F.mse_loss(x, y),
        "smooth_l1_loss": lambda: F.smooth_l1_loss(x, y),
        "kl_div": lambda: F.kl_div(x, shares),
        "bce with logits": lambda: F.binary_cross_entropy_with_logits(x, shares),
        "cosine_similarity": lambda: F.cosine_similarity(x, y),
        "l1_loss": lambda: F.l1_loss(x, y),
        "huber_loss": lambda: F.huber_loss(x, y),
        "nll_loss": lambda: F.nll_loss(x, classes),
        "triplet_margin_loss": lambda: F.triplet_margin_loss(x, y, shares),
        "cdist": lambda: torch.cdist(x[:, :64], y[:, :64]),
        "linear": lambda: F.linear(x, square, vector),
        "addmm": lambda: torch.addmm(x, x, square),
        "attention": lambda: F.scaled_dot_product_attention(heads, heads, heads),
        "lstm": lambda: lstm(steps),
        "gru": lambda: gru(steps),
    }.items()

    double, bf16, whole = x.double(), x.bfloat16(), torch.randint(0, 1000, (256, 1024))
    short = x.half()
    shares = x.sigmoid()
    yield from {
        "f32 to f64": lambda: x.double(),
        "f32 to bf16": lambda: x.bfloat16(),
        "i64 to f32": lambda: whole.float(),
        "add f64": lambda: double + double,
        "exp f64": lambda: double.exp(),
        "sum f64": lambda: double.sum(),
        "mm f64": lambda: double.mm(double.t()),
        "add bf16": lambda: bf16 + bf16,
        "exp bf16": lambda: bf16.exp(),
        "add i64": lambda: whole + whole,
        "sum i64": lambda: whole.sum(),
        "floor_divide i64": lambda: whole // 7,
        "mul i64": lambda: whole * whole,
        "bitwise_and i64": lambda: whole & whole,
        "maximum i64": lambda: whole.maximum(whole),
        "tanh f64": lambda: double.tanh(),
        "f32 to f16": lambda: x.half(),
        "f16 to f32": lambda: short.float(),
        "f32 to i64": lambda: x.long(),
        "f32 to u8": lambda: x.abs().byte(),
        "quantize_per_tensor": lambda: torch.quantize_per_tensor(x, 0.05, 3, torch.qint8),
        "fake_quantize": lambda: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -128, 127),
        "randint": lambda: torch.randint(0, 1000, (256, 1024)),
        "randperm": lambda: torch.randperm(262_144),
        "bernoulli": lambda: shares.bernoulli(),
        "multinomial": lambda: shares.multinomial(8),
        "rand": lambda: torch.rand(256, 1024),
        "randn": lambda: torch.randn(256, 1024),
        "arange": lambda: torch.arange(262_144),
    }.items()


def main():
    torch.set_num_threads(1)
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with torch.no_grad():
        for name, run in rows():
            if wanted in name:
                print(f"{name}\t{shortest(run):.2f}", flush=True)


if __name__ == "__main__":
    main()
