"""Shapes, parts and arrangements."""

import torch
import torch.nn.functional as F

F16, BF16, F64 = torch.float16, torch.bfloat16, torch.float64
I64, I32, U8 = torch.int64, torch.int32, torch.uint8


def rows(table):
    sizes(table)
    getitem(table)
    shapes(table)
    dimensions(table)
    repeats(table)
    parts(table)
    joins(table)
    arrangements(table)
    resizes(table)
    grids(table)


def sizes(table):
    op = table.op("size", lambda x, dim=None: tuple(x.size()) if dim is None else x.size(dim))
    op("dim", op.draw.f(2, 3), dim=1)
    op("negative", op.draw.f(2, 3), dim=-2)
    op("all", op.draw.f(2, 3))
    op("scalar tensor", op.draw.f())
    op.error("dim out of range", op.draw.f(2, 3), dim=2)
    op.error("dim of scalar tensor", op.draw.f(), dim=0)

    op = table.op("numel", torch.numel)
    op("matrix", op.draw.f(2, 3))
    op("scalar tensor", op.draw.f())
    op("empty", op.draw.f(0, 3))


def getitem(table):
    op = table.op("getitem", lambda x, index: x[index])
    d = op.draw
    x = d.f(3, 4, 2)
    op("int", x, 1)
    op("negative int", x, -1)
    op("slice", x, slice(1, None, None))
    op("slice step", x, slice(None, None, 2))
    op("negative bounds", x, slice(-2, -1, None))
    op("slice past the end", x, slice(2, 100, None))
    op("empty slice", x, slice(2, 1, None))
    op("tuple", x, (slice(None), 2, slice(0, 1, None)))
    op("ellipsis", x, (Ellipsis, 1))
    op("ellipsis between", x, (0, Ellipsis, -1))
    op("new dimension", x, (None, slice(None), None, 0))
    op("index tensor", x, torch.tensor([2, 0, 2]))
    op("negative index tensor", x, torch.tensor([[-1], [0]]))
    op("index list", x, [0, 2])
    op("two index tensors", x, (torch.tensor([0, 1, 2]), torch.tensor([3, 0, 1])))
    op("index tensors broadcast", x, (torch.tensor([[0], [2]]), torch.tensor([1, 3])))
    op("index tensors apart", x, (torch.tensor([0, 2]), slice(None), torch.tensor([1, 0])))
    op("index tensor and int", x, (1, slice(None), torch.tensor([1, 0, 1])))
    one, two = torch.tensor(1), torch.tensor([1, 0])
    op("index tensor without dimensions", x, torch.tensor(-1))
    op("index tensor without dimensions, i32", x, (slice(None), torch.tensor(3, dtype=torch.int32)))
    op("index tensor without dimensions, apart", x, (one, slice(None), two))
    op("index tensor without dimensions, behind", x, (two, slice(None), one))
    op("index tensor without dimensions, beside", x, (two, one))
    op("index tensor without dimensions, between", x, (two, one, two))
    op("index tensor without dimensions, new dimension", x, (one, None, two))
    op("index tensors without dimensions", x, (one, slice(None), one))
    op("index tensor without dimensions, mask", x, (one, torch.tensor([True, False, True, True])))
    op("index tensor without dimensions, mask and indices", x, (torch.tensor([True, False, True]), one, two))
    op("mask without dimensions", x, torch.tensor(True))
    op("mask without dimensions, false", x, (slice(None), torch.tensor(False)))
    op("mask without dimensions and indices", x, (torch.tensor(True), two))
    op("mask", x, x > 0.5)
    op("row mask", x, torch.tensor([True, False, True]))
    op("mask of columns", x, (slice(None), torch.tensor([True, False, True, True])))
    op("of a tuple", (d.f(2), d.f(3)), 1)
    op("of a list", [d.f(2), d.f(3)], -1)
    op("slice of a tuple", (1, 2, 3), slice(1, None, None))
    op.error("too many", x, (0, 0, 0, 0))
    op.error("out of range", x, 3)
    op.error("index tensor out of range", x, torch.tensor([0, 3]))
    op.error("index tensor without dimensions out of range", x, torch.tensor(-4))
    op.error("negative step", x, slice(None, None, -1))
    op.error("mask shape", x, torch.tensor([True, False]))
    op.error("float index", x, 1.5)
    op.error("past a tuple", (d.f(2),), 1)


def shapes(table):
    for name in ("reshape", "view"):
        op = table.op(name, lambda x, shape, name=name: getattr(x, name)(shape))
        d = op.draw
        op("matrix", d.f(2, 6), shape=(3, 4))
        op("minus one", d.f(2, 6), shape=(4, -1))
        op("one dimension", d.f(2, 3), shape=(-1,))
        op("to scalar", d.f(1, 1), shape=())
        op("from scalar", d.i(), shape=(1, 1))
        op("empty", d.f(0, 3), shape=(3, 0))
        op("bools", d.b(4), shape=(2, 2))
        op.error("count", d.f(2, 3), shape=(4, 2))
        op.error("two minus ones", d.f(2, 3), shape=(-1, -1))
        op.error("indivisible", d.f(2, 3), shape=(4, -1))
        op.error("negative", d.f(2, 3), shape=(-2, 3))
        op.error("minus one beside zero", d.f(0, 3), shape=(0, -1))

    op = table.op("flatten", torch.flatten)
    d = op.draw
    op("all", d.f(2, 3, 2))
    op("from one", d.f(2, 3, 2), start_dim=1)
    op("to one", d.f(2, 3, 2), end_dim=1)
    op("middle", d.f(2, 3, 2, 1), start_dim=-3, end_dim=-2)
    op("scalar tensor", d.f())
    op("empty", d.f(2, 0, 3), start_dim=1)
    op.error("order", d.f(2, 3), start_dim=1, end_dim=0)
    op.error("dim", d.f(2, 3), start_dim=2)

    op = table.op("unflatten", lambda x, dim, sizes: x.unflatten(dim, sizes))
    d = op.draw
    op("split", d.f(2, 6), dim=1, sizes=(2, 3))
    op("minus one", d.f(6, 2), dim=0, sizes=(-1, 2))
    op("negative dim", d.f(2, 4), dim=-1, sizes=(2, 1, 2))
    op.error("count", d.f(2, 6), dim=1, sizes=(4, 2))
    op.error("dim", d.f(2, 6), dim=2, sizes=(2, 3))

    op = table.op("squeeze", lambda x, dim=None: torch.squeeze(x) if dim is None else torch.squeeze(x, dim))
    d = op.draw
    op("all", d.f(1, 3, 1, 2))
    op("dim", d.f(1, 3, 1), dim=(0,))
    op("larger dim", d.f(1, 3, 1), dim=(1,))
    op("two dims", d.f(1, 3, 1), dim=(0, -1))
    op("scalar tensor", d.f())
    op.error("dim out of range", d.f(1, 3), dim=(2,))
    op = table.op("unsqueeze", torch.unsqueeze)
    d = op.draw
    op("first", d.f(2, 3), dim=0)
    op("last", d.f(2, 3), dim=-1)
    op("end", d.f(2, 3), dim=2)
    op("scalar tensor", d.f(), dim=0)
    op.error("dim", d.f(2, 3), dim=3)


def dimensions(table):
    op = table.op("permute", torch.permute)
    d = op.draw
    op("reverse", d.f(2, 3, 2), dims=(2, 1, 0))
    op("negative", d.f(2, 3, 2), dims=(-1, 0, 1))
    op("scalar tensor", d.f(), dims=())
    op("empty", d.f(0, 3), dims=(1, 0))
    op.error("count", d.f(2, 3), dims=(0,))
    op.error("twice", d.f(2, 3), dims=(0, 0))

    op = table.op("transpose", torch.transpose)
    d = op.draw
    op("matrix", d.f(2, 3), dim0=0, dim1=1)
    op("negative", d.f(2, 3, 4), dim0=-1, dim1=0)
    op("same", d.f(2, 3), dim0=1, dim1=1)
    op("scalar tensor", d.f(), dim0=0, dim1=-1)
    op.error("dim", d.f(2, 3), dim0=0, dim1=2)

    op = table.op("movedim", torch.movedim)
    d = op.draw
    op("one", d.f(2, 3, 4), source=(0,), destination=(2,))
    op("two", d.f(2, 3, 4), source=(0, 2), destination=(1, 0))
    op("negative", d.f(2, 3, 4), source=(-1,), destination=(0,))
    op.error("counts", d.f(2, 3, 4), source=(0, 1), destination=(0,))
    op.error("twice", d.f(2, 3, 4), source=(0, 0), destination=(0, 1))

    for name in ("expand", "broadcast_to"):
        op = table.op(name, lambda x, size, name=name: getattr(x, name)(size))
        d = op.draw
        op("rows", d.f(1, 3), size=(4, 3))
        op("new dimension", d.f(3), size=(2, 3))
        op("minus one", d.f(2, 1), size=(-1, 4))
        op("scalar tensor", d.f(), size=(2, 2))
        op("to zero", d.f(1, 3), size=(0, 3))
        op.error("size", d.f(2, 3), size=(4, 3))
        op.error("fewer", d.f(2, 3), size=(3,))
        op.error("new minus one", d.f(3), size=(-1, 3))
    op = table.op("expand_as", torch.Tensor.expand_as)
    op("matrix", op.draw.f(1, 3), op.draw.f(2, 3))
    op("other dtype", op.draw.f(3), op.draw.i(2, 3))
    op("scalar tensor", op.draw.f(), op.draw.f(2, 2))
    op.error("shapes", op.draw.f(2, 3), op.draw.f(3, 2))


def repeats(table):
    op = table.op("repeat", lambda x, repeats: x.repeat(repeats))
    d = op.draw
    op("matrix", d.f(2, 2), repeats=(2, 3))
    op("new dimension", d.f(3), repeats=(2, 2))
    op("zero", d.f(2, 2), repeats=(0, 1))
    op("scalar tensor", d.f(), repeats=(3,))
    op.error("fewer", d.f(2, 2), repeats=(2,))
    op.error("negative", d.f(2), repeats=(-1,))
    op = table.op("tile", torch.tile)
    d = op.draw
    op("matrix", d.f(2, 2), dims=(2, 1))
    op("fewer", d.f(2, 3), dims=(2,))
    op("more", d.f(3), dims=(2, 2))
    op("ints", d.i(2), dims=(2,))
    op.error("negative", d.f(2), dims=(-1,))

    def interleave(x, repeats, dim=None):
        return torch.repeat_interleave(x, repeats, dim=dim)

    op = table.op("repeat_interleave", interleave)
    d = op.draw
    op("flat", d.f(2, 3), repeats=2)
    op("dim", d.f(2, 3), repeats=3, dim=1)
    op("negative dim", d.f(2, 3), repeats=2, dim=-2)
    op("zero", d.f(2, 3), repeats=0, dim=0)
    op.error("dim out of range", d.f(2, 3), repeats=2, dim=2)
    op.error("negative", d.f(2, 3), repeats=-1)


def parts(table):
    op = table.op("narrow", torch.narrow)
    d = op.draw
    op("middle", d.f(4, 3), dim=0, start=1, length=2)
    op("negative", d.f(2, 5), dim=-1, start=-3, length=2)
    op("nothing", d.f(2, 5), dim=1, start=5, length=0)
    op.error("too long", d.f(2, 5), dim=1, start=3, length=3)
    op.error("scalar tensor", d.f(), dim=0, start=0, length=1)
    op = table.op("select", torch.select)
    d = op.draw
    op("row", d.f(2, 3), dim=0, index=1)
    op("negative", d.f(2, 3, 2), dim=-2, index=-1)
    op.error("index out of range", d.f(2, 3), dim=1, index=3)
    op.error("dim", d.f(2, 3), dim=2, index=0)
    op.error("scalar tensor", d.f(), dim=0, index=0)

    op = table.op("diagonal", torch.diagonal)
    d = op.draw
    op("matrix", d.f(3, 4))
    op("offset", d.f(3, 4), offset=2)
    op("negative offset", d.f(4, 3), offset=-1)
    op("dims", d.f(2, 3, 3), dim1=1, dim2=2)
    op("dims swapped", d.f(2, 3, 4), offset=1, dim1=-1, dim2=0)
    op("outside", d.f(2, 3), offset=5)
    op.error("same dim", d.f(3, 3), dim1=0, dim2=0)
    op.error("vector", d.f(3))

    op = table.op("unfold", lambda x, dimension, size, step: x.unfold(dimension, size, step))
    d = op.draw
    op("vector", d.f(7), dimension=0, size=3, step=2)
    op("overlap", d.f(2, 5), dimension=-1, size=2, step=1)
    op("first", d.f(4, 2), dimension=0, size=4, step=1)
    op.error("too large", d.f(3), dimension=0, size=4, step=1)
    op.error("step", d.f(3), dimension=0, size=2, step=0)

    def split(x, split_size_or_sections, dim=0):
        if isinstance(split_size_or_sections, tuple):
            split_size_or_sections = list(split_size_or_sections)
        return torch.split(x, split_size_or_sections, dim)

    op = table.op("split", split)
    d = op.draw
    op("size", d.f(5, 2), split_size_or_sections=2)
    op("dim", d.f(2, 4), split_size_or_sections=2, dim=-1)
    op("sections", d.f(5, 2), split_size_or_sections=(1, 4))
    op("empty section", d.f(3, 2), split_size_or_sections=(3, 0))
    op("larger", d.f(3), split_size_or_sections=10)
    op.error("sum of sections", d.f(5, 2), split_size_or_sections=(1, 3))
    op.error("scalar tensor", d.f(), split_size_or_sections=1)
    op = table.op("chunk", torch.chunk)
    d = op.draw
    op("even", d.f(4, 2), chunks=2)
    op("uneven", d.f(2, 5), chunks=3, dim=1)
    op("fewer", d.f(5), chunks=4)
    op("more", d.f(2), chunks=5)
    op("negative dim", d.f(2, 2), chunks=2, dim=-1)
    op.error("none", d.f(3), chunks=0)
    op.error("dim out of range", d.f(3), chunks=2, dim=1)
    op = table.op("unbind", torch.unbind)
    d = op.draw
    op("first", d.f(3, 2))
    op("last", d.f(2, 3), dim=-1)
    op("vector", d.i(3))
    op("empty", d.f(0, 3))
    op.error("scalar tensor", d.f())


def joins(table):
    op = table.op("cat", torch.cat)
    d = op.draw
    op("first", [d.f(2, 3), d.f(1, 3)])
    op("last", [d.f(2, 1), d.f(2, 3), d.f(2, 2)], dim=-1)
    op("promotion", [d.i(2, 2), d.f(1, 2)])
    op("half and bool", [d.f(2, dtype=F16), d.b(2)])
    op("with an empty vector", [d.f(0), d.f(2, 3)], dim=1)
    op("empty part", [d.f(0, 3), d.f(2, 3)])
    op.error("shapes", [d.f(2, 3), d.f(2, 4)])
    op.error("ranks", [d.f(2, 3), d.f(3)])
    op.error("scalar tensors", [d.f(), d.f()])
    op.error("nothing", [])
    op = table.op("stack", torch.stack)
    d = op.draw
    op("first", [d.f(2, 3), d.f(2, 3)])
    op("last", [d.f(2, 3), d.f(2, 3)], dim=-1)
    op("scalar tensors", [d.f(), d.f(), d.f()])
    op("promotion", [d.i(2), d.f(2)], dim=1)
    op.error("shapes", [d.f(2), d.f(3)])
    op.error("dim", [d.f(2), d.f(2)], dim=2)


def arrangements(table):
    op = table.op("pad", F.pad)
    d = op.draw
    op("last", d.f(2, 3), pad=(1, 2))
    op("value", d.f(2, 3), pad=(0, 1, 1, 0), value=-1.5)
    op("crop", d.f(3, 4), pad=(-1, -1))
    op("ints", d.i(3), pad=(1, 1), value=7.0)
    op("reflect", d.f(1, 2, 4), pad=(2, 1), mode="reflect")
    op("reflect two", d.f(1, 1, 3, 4), pad=(1, 2, 2, 1), mode="reflect")
    op("replicate", d.f(2, 2, 3), pad=(2, 1), mode="replicate")
    op("replicate two", d.f(1, 2, 3, 2), pad=(1, 0, 0, 2), mode="replicate")
    op("circular", d.f(1, 2, 3), pad=(2, 3), mode="circular")
    op("circular two", d.f(1, 1, 2, 3), pad=(1, 1, 2, 0), mode="circular")
    op.error("odd", d.f(2, 3), pad=(1,))
    op.error("too many", d.f(3), pad=(1, 1, 1, 1))
    op.error("reflect too far", d.f(1, 2, 3), pad=(3, 0), mode="reflect")
    op.error("mode", d.f(1, 2, 3), pad=(1, 1), mode="mirror")
    op("around nothing", d.f(2, 1, 0), pad=(2, 1, 1, 0), value=0.5)
    op("in batches of none", d.f(0, 2, 3), pad=(2, 1))

    op = table.op("roll", torch.roll)
    d = op.draw
    op("flat", d.f(2, 3), shifts=(1,))
    op("dim", d.f(2, 4), shifts=(-1,), dims=(1,))
    op("two", d.f(3, 3), shifts=(1, 4), dims=(0, -1))
    op("empty", d.f(0, 2), shifts=(1,), dims=(0,))
    op.error("counts", d.f(2, 3), shifts=(1, 2), dims=(0,))
    op = table.op("flip", torch.flip)
    d = op.draw
    op("first", d.f(3, 2), dims=(0,))
    op("both", d.f(2, 3), dims=(0, -1))
    op("none", d.f(2, 3), dims=())
    op("bools", d.b(4), dims=(0,))
    op.error("twice", d.f(2, 3), dims=(0, 0))
    op.error("dim", d.f(2, 3), dims=(2,))

    for name in ("tril", "triu"):
        op = table.op(name, getattr(torch, name))
        d = op.draw
        op("matrix", d.f(3, 4))
        op("above", d.f(3, 4), diagonal=1)
        op("below", d.f(4, 3), diagonal=-2)
        op("batch", d.f(2, 3, 3), diagonal=-1)
        op("ints", d.i(3, 3))
        op("bools", torch.ones(3, 3, dtype=torch.bool), diagonal=1)
        op.error("vector", d.f(3))


def resizes(table):
    op = table.op("interpolate", F.interpolate)
    d = op.draw
    op("nearest size", d.f(1, 2, 3), size=(5,))
    op("nearest factor", d.f(1, 1, 2, 3), scale_factor=(2.0, 2.0))
    op("nearest smaller", d.f(1, 1, 4, 5), size=(2, 3))
    op("nearest three", d.f(1, 1, 2, 2, 2), size=(3, 2, 4))
    op("nearest odd factor", d.f(1, 1, 4), scale_factor=(1.7,))
    op("nearest exact", d.f(1, 1, 4, 5), size=(3, 8), mode="nearest-exact")
    op("linear", d.f(1, 2, 4), size=(7,), mode="linear")
    op("linear corners", d.f(1, 2, 4), size=(7,), mode="linear", align_corners=True)
    op("bilinear", d.f(1, 2, 3, 3), size=(5, 4), mode="bilinear")
    op("bilinear factor", d.f(1, 1, 3, 4), scale_factor=(2.5, 1.5), mode="bilinear", align_corners=False)
    op("bilinear corners", d.f(1, 1, 3, 3), size=(5, 2), mode="bilinear", align_corners=True)
    op("double", d.f(1, 1, 3, dtype=F64), size=(5,), mode="linear")
    # Places on the edge between two elements: which one is nearest depends on how PyTorch rounds.
    for dtype, name in [(torch.float32, "single"), (F64, "double")]:
        for mode, edge, factor in [("nearest", 22, 2.6), ("nearest-exact", 11, 1.3)]:
            op(f"{mode} edges, {name}", d.f(1, 1, 30, dtype=dtype), size=(edge,), mode=mode)
            op(f"{mode} edges of 26, {name}", d.f(1, 1, 26, dtype=dtype), size=(22,), mode=mode)
            op(f"{mode} edges of 14, {name}", d.f(1, 1, 14, dtype=dtype), size=(23,), mode=mode)
            op(f"{mode} edges of a factor, {name}", d.f(1, 1, 16, dtype=dtype), scale_factor=(factor,), mode=mode)
            op(f"{mode} edges of images, {name}", d.f(1, 1, 2, 30, dtype=dtype), size=(4, edge), mode=mode)
            op(f"{mode} edges of an image factor, {name}", d.f(1, 1, 2, 16, dtype=dtype), scale_factor=(1.1, factor), mode=mode)
            op(f"{mode} wide images, {name}", d.f(1, 1, 1, 26, dtype=dtype), size=(1, 132), mode=mode)
    op("linear, as long as before", d.f(1, 1, 2), scale_factor=(1.3,), mode="linear")
    op("bilinear, as high as before", d.f(1, 2, 2, 3), scale_factor=(1.3, 1.4), mode="bilinear", align_corners=False)
    op.error("nothing", d.f(1, 1, 3))
    op.error("both", d.f(1, 1, 3), size=(5,), scale_factor=(2.0,))
    op.error("rank", d.f(1, 1, 3), size=(5, 5), mode="bilinear")
    op.error("corners of nearest", d.f(1, 1, 3), size=(5,), align_corners=True)
    op("trilinear", d.f(1, 2, 2, 3, 2), size=(3, 4, 5), mode="trilinear")
    op("trilinear factor", d.f(1, 1, 2, 2, 3), scale_factor=(1.5, 2.0, 1.4), mode="trilinear", align_corners=False)
    op("trilinear corners", d.f(1, 1, 3, 2, 2), size=(2, 3, 4), mode="trilinear", align_corners=True)
    op("bicubic", d.f(1, 2, 3, 4), size=(5, 7), mode="bicubic")
    op("bicubic factor", d.f(1, 1, 4, 3), scale_factor=(1.7, 2.0), mode="bicubic", align_corners=False)
    op("bicubic corners", d.f(1, 1, 4, 5), size=(7, 3), mode="bicubic", align_corners=True)
    op("bicubic, as high as before", d.f(1, 1, 2, 3), scale_factor=(1.3, 1.4), mode="bicubic")
    op("bicubic, as large as before", d.f(1, 1, 2, 2), scale_factor=(1.3, 1.4), mode="bicubic")
    op("bicubic double", d.f(1, 1, 3, 3, dtype=F64), size=(4, 2), mode="bicubic")
    op("area", d.f(1, 2, 5), size=(3,), mode="area")
    op("area of images", d.f(1, 1, 4, 6), scale_factor=(0.5, 0.4), mode="area")
    op("area of volumes", d.f(1, 1, 2, 3, 4), size=(1, 4, 2), mode="area")
    op.error("rank of cubic", d.f(1, 1, 3), size=(5,), mode="bicubic")
    op.error("corners of area", d.f(1, 1, 3), size=(5,), mode="area", align_corners=False)

    op = table.op("pixel_shuffle", F.pixel_shuffle)
    d = op.draw
    op("image", d.f(1, 4, 2, 3), upscale_factor=2)
    op("unbatched", d.f(9, 1, 2), upscale_factor=3)
    op("batch", d.f(2, 8, 1, 2), upscale_factor=2)
    op.error("channels", d.f(1, 3, 2, 2), upscale_factor=2)
    op.error("rank", d.f(4, 2), upscale_factor=2)
    op = table.op("pixel_unshuffle", F.pixel_unshuffle)
    d = op.draw
    op("image", d.f(1, 1, 4, 6), downscale_factor=2)
    op("unbatched", d.f(2, 3, 3), downscale_factor=3)
    op.error("size", d.f(1, 1, 3, 4), downscale_factor=2)
    op.error("rank", d.f(4, 2), downscale_factor=2)


def grids(table):
    op = table.op("grid_sample", F.grid_sample)
    d = op.draw
    nan, inf = float("nan"), float("inf")
    edges = torch.tensor([[[[nan, 0.0], [inf, 0.0], [-inf, 0.1], [1e30, 0.2], [0.1, -1e30]]]])
    for mode in ("bilinear", "nearest", "bicubic"):
        for around in ("zeros", "border", "reflection"):
            options = {"mode": mode, "padding_mode": around}
            options = {name: word for name, word in options.items() if word not in ("bilinear", "zeros")}
            words = f"{mode}, {around}"
            op(words, d.f(1, 2, 4, 5), d.f(1, 2, 3, 2), **options)
            op(f"{words}, corners", d.f(1, 1, 4, 3), d.f(1, 2, 3, 2, low=-4.0, high=4.0), **options, align_corners=True)
            op(f"{words}, not finite", d.f(1, 1, 4, 5), edges, **options)
            op(f"{words}, one element", d.f(1, 1, 1, 1), d.f(1, 1, 3, 2), **options, align_corners=True)
        op(f"{mode}, volumes", d.f(1, 2, 2, 3, 4), d.f(1, 1, 2, 2, 3, low=-1.0, high=1.0), **options)
    op("batch", d.f(2, 1, 3, 3), d.f(2, 2, 2, 2, low=-1.0, high=1.0))
    op("transposed", d.f(1, 2, 4, 5).transpose(2, 3), d.f(1, 2, 3, 2).transpose(1, 2))
    op("double", d.f(1, 2, 4, 5, dtype=F64), d.f(1, 2, 3, 2, dtype=F64))
    op("no channels", d.f(1, 0, 4, 5), d.f(1, 2, 3, 2))
    op("no places", d.f(1, 2, 4, 5), d.f(1, 0, 3, 2))
    op.error("batches", d.f(2, 2, 4, 5), d.f(1, 2, 3, 2))
    op.error("coordinates", d.f(1, 2, 4, 5), d.f(1, 2, 3, 3))
    op.error("rank", d.f(2, 4, 5), d.f(2, 3, 2))
    op.error("rank of the grid", d.f(1, 2, 4, 5), d.f(1, 3, 2))
    op.error("dtypes", d.f(1, 2, 4, 5), d.f(1, 2, 3, 2, dtype=F64))
    op.error("ints", d.i(1, 2, 4, 5), d.i(1, 2, 3, 2))
    op.error("mode", d.f(1, 2, 4, 5), d.f(1, 2, 3, 2), mode="linear")
    op.error("padding mode", d.f(1, 2, 4, 5), d.f(1, 2, 3, 2), padding_mode="circular")
    op.error("nothing to sample", d.f(1, 2, 0, 5), d.f(1, 2, 3, 2))

    op = table.op("affine_grid", F.affine_grid)
    d = op.draw
    op("images", d.f(2, 2, 3), size=(2, 3, 3, 4))
    op("corners", d.f(1, 2, 3), size=(1, 3, 3, 4), align_corners=True)
    op("one element", d.f(1, 2, 3), size=(1, 3, 1, 2), align_corners=True)
    op("volumes", d.f(1, 3, 4), size=(1, 1, 2, 3, 2))
    op("volumes, corners", d.f(2, 3, 4), size=(2, 1, 2, 2, 2), align_corners=True)
    op("double", d.f(1, 2, 3, dtype=F64), size=(1, 3, 3, 2))
    op.error("ints", d.i(1, 2, 3), size=(1, 3, 3, 2))
    op.error("batches", d.f(2, 2, 3), size=(1, 3, 3, 2))
    op.error("matrix", d.f(1, 3, 4), size=(1, 3, 3, 2))
    op.error("rank", d.f(2, 3), size=(1, 3, 3, 2))
    op.error("size", d.f(1, 2, 3), size=(1, 3, 2))
    op.error("nothing", d.f(1, 2, 3), size=(1, 3, 0, 2))
