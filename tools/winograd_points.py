"""Rounding errors of Winograd's algorithm for 3 by 3 windows, by the points that its transforms are at.

`python tools/winograd_points.py` (NumPy): for each set of points the root mean square and the largest error of f32 against
f64, as a share of the sums' root mean square, beside those of the definition. Products are summed in one chain.
"""
import numpy as np

ROOT = 2**0.5
POINTS = {
    "F(2x2, 3x3) at 0, 1, -1": (2, [0, 1, -1]),
    "F(4x4, 3x3) at 0, 1, -1, 2, -2": (4, [0, 1, -1, 2, -2]),
    "F(4x4, 3x3) at 0, 1, -1, 1/2, -2": (4, [0, 1, -1, 0.5, -2]),
    "F(4x4, 3x3) at 0, +-root(1/2), +-root(2)": (4, [0, ROOT / 2, -ROOT / 2, ROOT, -ROOT]),
    "F(6x6, 3x3) at 0, 1, -1, 2, -2, 1/2, -1/2": (6, [0, 1, -1, 2, -2, 0.5, -0.5]),
}


def transforms(size, points):
    """Those of the output, of weights and of the input, at the points and at infinity."""
    last = lambda width: [[0] * (width - 1) + [1]]
    powers = lambda width: np.array([[float(p) ** k for k in range(width)] for p in points] + last(width))
    others = [[q for q in points if q != p] for p in points]
    scale = np.array([np.prod([p - q for q in rest]) for p, rest in zip(points, others)] + [1.0])
    enter = np.array([np.append(np.poly(rest)[::-1], 0) for rest in others] + [np.poly(points)[::-1]])
    return powers(size).T, powers(3) / scale[:, None], enter


def along(matrix, x, axis):
    """The transform along an axis, term by term in f32."""
    x = np.moveaxis(x, axis, 0)
    rows = []
    for row in matrix.astype(np.float32):
        terms = [(factor * part).astype(np.float32) for factor, part in zip(row, x) if factor]
        rows.append(sum(terms[1:], terms[0]))
    return np.moveaxis(np.array(rows), 0, axis)


def errors(size, points, channels, tiles=20, outputs=16):
    """Of the algorithm and of the definition."""
    leave, weights, enter = transforms(size, points)
    random = np.random.default_rng(0)
    x = random.uniform(-0.5, 0.5, (tiles, channels, size + 2, size + 2)).astype(np.float32)
    w = random.uniform(-0.5, 0.5, (channels, outputs, 3, 3)).astype(np.float32)
    entered = along(enter, along(enter, x, 2), 3)
    kernel = np.einsum("ai,koij,bj->koab", weights, w.astype(np.float64), weights).astype(np.float32)
    sums = np.zeros((tiles, outputs, size + 2, size + 2), np.float32)
    direct, exact = np.zeros((2, tiles, outputs, size, size))
    direct = direct.astype(np.float32)
    for k in range(channels):
        sums = (sums + entered[:, k, None].astype(np.float64) * kernel[k]).astype(np.float32)
        for i, j in np.ndindex(3, 3):
            product = x[:, k, None, i : i + size, j : j + size].astype(np.float64) * w[None, k, :, i, j, None, None]
            exact, direct = exact + product, (direct + product).astype(np.float32)
    square = lambda x: np.sqrt((x**2).mean())
    share = lambda y: ((y - exact) / square(exact))
    return [f(share(y)) for y in (along(leave, along(leave, sums, 2), 3), direct) for f in (square, lambda e: abs(e).max())]


for channels in (64, 256):
    print(f"{channels} channels" + " " * 34 + "rms      largest   definition: rms, largest")
    for name, (size, points) in POINTS.items():
        print(f"  {name:<44}" + "   ".join(f"{error:.1e}" for error in errors(size, points, channels)))
