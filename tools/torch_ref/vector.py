"""PyTorch's times for the cases of `cargo bench -p fx-kernels --bench vector`: name, microseconds with one thread and
with two, separated by tabs.

    python tools/torch_ref/vector.py [filter] > figures
    cargo bench -p fx-kernels --bench vector "" figures
"""

import sys
import time

import torch
import torch.nn.functional as F


def numbers(*shape):
    count = 1
    for size in shape:
        count *= size
    return ((torch.arange(count, dtype=torch.int64) * 7919 % 2003).float() / 250 - 4).reshape(shape)


def shortest(run):
    run()
    start = time.perf_counter()
    run()
    run()
    once = (time.perf_counter() - start) / 2
    burst = int(min(max(0.001 / once, 1), 1000))
    count = int(min(max(0.2 / (once * burst), 5), 200))
    times = []
    for _ in range(count):
        start = time.perf_counter()
        for _ in range(burst):
            run()
        times.append((time.perf_counter() - start) / burst)
    return min(times)


def elementwise():
    functions = {
        "relu": torch.relu, "exp": torch.exp, "log": torch.log, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
        "erf": torch.erf, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu,
        "mish": F.mish, "softplus": F.softplus, "selu": F.selu, "hardswish": F.hardswish,
    }
    for size, count in [("16k", 16 * 1024), ("4M", 4 << 20)]:
        x, y = numbers(count), numbers(count)
        for name, function in functions.items():
            yield f"{name} {size}", lambda function=function, x=x: function(x)
        yield f"add {size}", lambda x=x, y=y: x + y
    x, row = numbers(128, 3072), numbers(3072)
    yield "add a row 128x3072", lambda: x + row
    image, channels = numbers(64, 56, 56), numbers(64, 1, 1)
    yield "mul by channels 64x56x56", lambda: image * channels
    a, b = numbers(1024, 3072), numbers(1024, 3072)
    yield "gelu(x + row) * y 1024x3072", lambda: F.gelu(a + row) * b


def rows():
    for shape in [(1536, 128), (64, 1000), (64, 50257)]:
        x = numbers(*shape)
        yield f"softmax {shape[0]}x{shape[1]}", lambda x=x: x.softmax(-1)
    x = numbers(64, 1000)
    yield "log_softmax 64x1000", lambda: x.log_softmax(-1)
    image = numbers(1, 21, 128, 128)
    yield "softmax of channels 21x128x128", lambda: image.softmax(1)
    for shape in [(128, 768), (1024, 768), (128, 4096)]:
        x, weight = numbers(*shape), numbers(shape[1])
        yield f"layer_norm {shape[0]}x{shape[1]}", lambda x=x, w=weight: F.layer_norm(x, w.shape, w, w)
    a, weight = numbers(128, 768), numbers(768)
    yield "layer_norm(x + y) 128x768", lambda: F.layer_norm(a + a, (768,), weight, weight)
    b, wide = numbers(128, 4096), numbers(4096)
    yield "rms_norm 128x4096", lambda: F.rms_norm(b, (4096,), wide, 1e-5)
    c, channels = numbers(1, 256, 56, 56), numbers(256)
    yield "group_norm 32 of 256x56x56", lambda: F.group_norm(c, 32, channels, channels)
    for shape in [(2048, 49, 1), (64, 16384, 1), (8, 49, 2048)]:
        x = numbers(*shape)
        name = "x".join(map(str, shape))
        yield f"mean {name}", lambda x=x: x.mean(1)
        yield f"max {name}", lambda x=x: x.amax(1)


def attentions():
    for name, batch, heads, queries, keys, width, causal in [
        ("bert", 1, 12, 128, 128, 64, False),
        ("bert", 8, 12, 128, 128, 64, False),
        ("gpt2", 1, 12, 128, 128, 64, True),
        ("vit", 1, 12, 197, 197, 64, False),
        ("long", 1, 8, 1024, 1024, 64, False),
        ("long causal", 1, 8, 1024, 1024, 64, True),
        ("one query", 1, 12, 1, 512, 64, False),
    ]:
        q = numbers(batch, queries, heads, width).transpose(1, 2)
        k = numbers(batch, keys, heads, width).transpose(1, 2)
        yield (f"attention {name} {batch}x{heads}x{queries}x{keys}",
               lambda q=q, k=k, c=causal: F.scaled_dot_product_attention(q, k, k, is_causal=c))


def copies():
    for c, h, w in [(3, 224, 224), (64, 56, 56), (2048, 7, 7)]:
        x = numbers(1, c, h, w)
        last = x.contiguous(memory_format=torch.channels_last)
        yield f"NCHW to NHWC {c}x{h}x{w}", lambda x=x: x.contiguous(memory_format=torch.channels_last)
        yield f"NHWC to NCHW {c}x{h}x{w}", lambda x=last: x.contiguous()
    square, table = numbers(1024, 1024), numbers(30522, 768)
    yield "transpose 1024x1024", lambda: square.t().contiguous()
    heads = numbers(128, 12, 64)
    yield "heads 128x12x64 to 12x128x64", lambda: heads.transpose(0, 1).contiguous()
    image = numbers(1, 256, 28, 28)
    yield "concatenate two of 1x256x28x28", lambda: torch.cat([image, image], 1)
    indices = torch.arange(128) * 7919 % 30522
    yield "embedding 128 of 30522x768", lambda: F.embedding(indices, table)


def recurrent():
    # The products of the inputs are left out by inputs of one number.
    for name, kind in [("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU)]:
        for hidden, batch in [(128, 1), (512, 1), (512, 16)]:
            layer, x = kind(1, hidden), numbers(20, batch, 1)
            yield f"{name} 20 steps of {batch}x{hidden}", lambda layer=layer, x=x: layer(x)


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with torch.inference_mode():
        for cases in (elementwise, rows, attentions, copies, recurrent):
            for name, run in cases():
                if wanted in name:
                    times = []
                    for threads in (1, 2):
                        torch.set_num_threads(threads)
                        times.append(f"{shortest(run) * 1e6:.2f}")
                    print(name, *times, sep="\t", flush=True)


main()
