"""Arithmetic, comparisons and logic."""

import operator

import torch

F16, BF16, F64 = torch.float16, torch.bfloat16, torch.float64
I64, I32, I8, U8 = torch.int64, torch.int32, torch.int8, torch.uint8
INF, NAN = float("inf"), float("nan")


def rows(table):
    arithmetic(table)
    float_pairs(table)
    comparisons(table)
    logic(table)
    unary(table)
    ternary(table)
    copies(table)


def by_operator(function, sign):
    """The function, with a number as its first operand too."""

    def call(a, b, **kwargs):
        if isinstance(a, torch.Tensor) or kwargs:
            return function(a, b, **kwargs)
        return sign(a, b)

    return call


def samples(op, first, second):
    """What every binary op is tried with; `first` and `second` draw floats."""
    d = op.draw
    op("same shape", first(2, 3), second(2, 3))
    op("broadcast", first(2, 1, 3), second(4, 1))
    op("scalar tensor", first(2, 3), second())
    op("half", first(5, dtype=F16), second(5, dtype=F16))
    op("bfloat16 and f32", first(5, dtype=BF16), second(5))
    op("double scalar tensor", first(3), second(dtype=F64))
    op("empty", first(0, 3), second(1, 3))
    op("int and float", d.i(2, 3, low=1), second(2, 3))
    op.error("shapes", first(2, 3), second(2, 4))


def arithmetic(table):
    add = table.op("add", by_operator(torch.add, operator.add))
    sub = table.op("sub", by_operator(torch.sub, operator.sub))
    for op in (add, sub):
        d = op.draw
        samples(op, d.f, d.f)
        op("alpha", d.f(4), d.f(4), alpha=2.5)
        op("int alpha", d.i(4), d.i(4, dtype=I32), alpha=-3)
        op.error("float alpha of ints", d.i(4), d.i(4), alpha=0.5)
    add("bools", add.draw.b(4), add.draw.b(4))
    sub.error("bools", sub.draw.b(4), sub.draw.b(4))

    mul = table.op("mul", by_operator(torch.mul, operator.mul))
    samples(mul, mul.draw.f, mul.draw.f)
    mul("bool and int", mul.draw.b(4), mul.draw.i(4, dtype=I8))
    for op in (add, sub, mul):
        d = op.draw
        op("number", d.f(3), 1.5)
        op("number first", 2, d.f(3))
        op("int and float number", d.i(3), 0.5)
        op("half and number", d.f(3, dtype=F16), 3.25)
        op("u8 and number", d.i(3, low=3, high=100, dtype=U8), 2)
        op("sizes", 7, -3)

    div = table.op("div", by_operator(torch.div, operator.truediv))
    samples(div, div.draw.f, div.draw.positive)
    d = div.draw
    div("ints", d.i(6), d.i(6, low=1))
    div("number", d.f(3), 4)
    div("number first", 2, d.f(3))
    div("by zero", torch.tensor([1.0, -1.0, 0.0]), torch.tensor([0.0, 0.0, 0.0]))
    for mode in ("floor", "trunc"):
        div(mode, d.f(6, low=-9, high=9), d.positive(6), rounding_mode=mode)
        div(f"{mode} of ints", d.i(6, low=-20, high=20), torch.tensor([3, -3, 4, -4, 7, 2]), rounding_mode=mode)
    div.error("mode", d.f(3), d.f(3), rounding_mode="nearest")

    whole(table.op("floor_divide", by_operator(torch.floor_divide, operator.floordiv)), sizes=True)
    whole(table.op("remainder", by_operator(torch.remainder, operator.mod)), sizes=True)
    whole(table.op("fmod", torch.fmod), sizes=False)

    power = table.op("pow", torch.pow)
    d = power.draw
    samples(power, d.positive, d.f)
    power("square", d.f(4), 2)
    power("float exponent", d.positive(4), 0.5)
    power("of ints", d.i(5), 3)
    power("int and float number", d.i(4, low=1), 1.5)
    power("number first", 2, d.f(4))
    power("negative base", torch.tensor([-2.0, -0.5, 0.0]), torch.tensor([3.0, -2.0, 0.0]))
    power.error("negative exponent of ints", d.i(4, low=1), -1)

    for name, function in (("maximum", torch.maximum), ("minimum", torch.minimum)):
        op = table.op(name, function)
        d = op.draw
        samples(op, d.f, d.f)
        op("nan", torch.tensor([NAN, 1.0, INF]), torch.tensor([0.5, NAN, -INF]))
        op("ints", d.i(4), d.i(4, dtype=I32))
        op("bools", d.b(4), d.b(4))

    atan2 = table.op("atan2", torch.atan2)
    samples(atan2, atan2.draw.f, atan2.draw.f)
    atan2("quadrants", torch.tensor([0.0, -0.0, 1.0, -1.0]), torch.tensor([-1.0, -1.0, 0.0, 0.0]))
    atan2("ints", atan2.draw.i(4), atan2.draw.i(4))


def whole(op, sizes):
    """Divisions that give whole parts or remainders."""
    d = op.draw
    samples(op, lambda *shape, **kw: d.f(*shape, low=-7, high=7, **kw), d.positive)
    op("signs", torch.tensor([7.3, -7.3, 7.3, -7.3]), torch.tensor([2.5, 2.5, -2.5, -2.5]))
    op("ints", torch.tensor([7, -7, 7, -7, 6]), torch.tensor([3, 3, -3, -3, 3]))
    op("u8", d.i(4, low=10, high=200, dtype=U8), torch.tensor([3, 7, 9, 11], dtype=U8))
    op("number", d.f(3, low=-7, high=7), 2)
    op("int and float number", d.i(4), 2.5)
    op("by zero", torch.tensor([1.5, -2.5]), torch.tensor([0.0, 0.0]))
    op.error("int by zero", d.i(3), torch.tensor([1, 0, 2]))
    if sizes:
        op("number first", 7, d.positive(3))
        op("sizes", -7, 2)


def float_pairs(table):
    for name in ("logaddexp", "hypot"):
        op = table.op(name, getattr(torch, name))
        d = op.draw
        samples(op, d.f, d.f)
        op("double", d.f(2, 3, dtype=F64), d.f(3, dtype=F64))
        op("transposed", d.f(3, 2).t(), d.f(2, 3))
        op("large", torch.tensor([3e38, -3e38, 1e30, 100.0, -200.0]), torch.tensor([3e37, -3e38, -1e30, 101.0, -100.0]))
        op("not finite", torch.tensor([INF, -INF, INF, -INF, NAN, 1.0, -INF]), torch.tensor([INF, -INF, -INF, INF, 1.0, NAN, 2.0]))
        op("not finite, double", *(torch.tensor([INF, -INF, NAN, 1.0, INF]).double().roll(n) for n in (0, 1)))
        op("one broadcasts to both", d.f(2, 1), d.f(1, 3, dtype=F64))
        op("bfloat16", d.f(4, dtype=BF16), d.f(4, dtype=BF16))
        op.error("ints", d.i(3), d.i(3))
        op.error("bools", d.b(3), d.b(3))


def comparisons(table):
    signs = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
             "ge": operator.ge}
    for name, sign in signs.items():
        op = table.op(name, by_operator(getattr(torch, name), sign))
        d = op.draw
        samples(op, d.f, d.f)
        op("equal parts", torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0]))
        op("nan", torch.tensor([NAN, 1.0, INF]), torch.tensor([NAN, NAN, INF]))
        op("number", d.f(4), 0)
        op("int and float number", torch.tensor([1, 2, 3]), 2.5)
        op("number first", 1, torch.tensor([0.0, 1.0, 2.0]))
        op("bools", d.b(4), d.b(4))


def logic(table):
    for name in ("and", "or", "xor"):
        op = table.op(f"logical_{name}", getattr(torch, f"logical_{name}"))
        d = op.draw
        op("bools", d.b(2, 4), d.b(4))
        op("floats", torch.tensor([0.0, 0.5, NAN, 0.0]), torch.tensor([1.0, 2.0, 0.0, 0.0]))
        op("int and bool", d.i(6, low=0, high=2), d.b(6))
        op("empty", d.b(0), d.b(1))
        op.error("shapes", d.b(3), d.b(4))

        bits = table.op(f"bitwise_{name}", getattr(torch, f"bitwise_{name}"))
        d = bits.draw
        bits("bools", d.b(2, 4), d.b(4))
        bits("ints", d.i(6, low=-99, high=99), d.i(6, low=-99, high=99))
        bits("promotion", d.i(6, dtype=I8), d.i(6, low=0, high=200, dtype=I32))
        bits("bool and i32", d.b(4), d.i(4, dtype=I32))
        bits("number", d.i(5, dtype=I32), 6)
        bits("bool and number", d.b(3), True)
        bits("scalar tensor", d.i(5, dtype=I8), d.i())
        bits.error("floats", d.f(3), d.f(3))
        bits.error("shapes", d.i(3), d.i(4))

    flip = table.op("bitwise_not", torch.bitwise_not)
    flip("ints", flip.draw.i(2, 3))
    flip("u8", flip.draw.i(4, low=0, high=255, dtype=U8))
    flip("bools", flip.draw.b(4))
    flip("scalar tensor", flip.draw.i(dtype=I32))
    flip.error("floats", flip.draw.f(3))

    opposite = table.op("logical_not", torch.logical_not)
    opposite("bools", opposite.draw.b(5))
    opposite("floats", torch.tensor([0.0, -0.0, 1.5, NAN]))
    opposite("ints", opposite.draw.i(2, 3, low=-1, high=2, dtype=I32))
    opposite("empty", opposite.draw.b(0, 2))

    close = table.op("isclose", torch.isclose)
    a = torch.tensor([1.0, 100.0, NAN, INF, 0.0])
    b = torch.tensor([1.000001, 100.5, NAN, INF, 1e-9])
    close("defaults", a, b)
    close("rtol", a, b, rtol=0.01)
    close("atol", a, b, atol=1.0)
    close("equal nan", a, b, equal_nan=True)
    close("broadcast", a.reshape(5, 1), torch.tensor([1.0, 100.0]))
    close("ints", torch.tensor([1, 2, 3]), torch.tensor([1, 2, 4]), rtol=0.0, atol=0.5)
    close.error("dtypes", a, b.double())


def unary(table):
    plain, above_zero, unit = (-2.0, 2.0), (0.1, 3.0), (-0.95, 0.95)
    floats = {
        "exp": plain, "expm1": plain, "log": above_zero, "log1p": (-0.9, 3.0), "log2": above_zero,
        "log10": above_zero, "sqrt": above_zero, "rsqrt": above_zero, "reciprocal": above_zero, "sin": plain,
        "cos": plain, "tan": (-1.3, 1.3), "asin": unit, "acos": unit, "atan": plain, "sinh": plain, "cosh": plain,
        "asinh": plain, "acosh": (1.1, 4.0), "atanh": unit, "tanh": plain, "erf": plain, "erfc": plain,
        "sigmoid": plain,
    }
    for name, (low, high) in floats.items():
        op = table.op(name, getattr(torch, name))
        d = op.draw
        op("matrix", d.f(2, 5, low=low, high=high))
        op("scalar tensor", d.f(low=low, high=high))
        op("empty", d.f(0, 2))
        op("double", d.f(3, low=low, high=high, dtype=F64))
        op("half", d.f(5, low=low, high=high, dtype=F16))
        op("bfloat16", d.f(5, low=low, high=high, dtype=BF16))
        op("ints", torch.tensor([0, 1, 2, -3], dtype=I32))
        op("bools", torch.tensor([False, True]))
        op("special", torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 1e-6]))
        op("large", torch.tensor([10.0, -10.0, 88.0, -88.0, 30.5]))

    for name in ("floor", "ceil", "round", "trunc", "abs"):
        op = table.op(name, getattr(torch, name))
        numbers(op)
        op("halves", torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 3.5]))
        op.error("bools", op.draw.b(3))
    frac = table.op("frac", torch.frac)
    numbers(frac, ints=False)
    frac.error("ints", frac.draw.i(3))

    neg = table.op("neg", lambda x: torch.neg(x) if isinstance(x, torch.Tensor) else -x)
    numbers(neg)
    neg("u8", neg.draw.i(4, low=0, high=200, dtype=U8))
    neg("size", 5)
    neg.error("bools", neg.draw.b(3))
    square = table.op("square", torch.square)
    numbers(square)
    square("bools", square.draw.b(3))
    sign = table.op("sign", torch.sign)
    numbers(sign)
    sign("bools", sign.draw.b(3))

    for name in ("isnan", "isinf", "isfinite"):
        op = table.op(name, getattr(torch, name))
        op("special", torch.tensor([NAN, INF, -INF, 0.0, 1.0]))
        op("half", torch.tensor([NAN, INF, 2.0], dtype=F16))
        op("ints", op.draw.i(2, 3))
        op("bools", op.draw.b(3))
        op("scalar tensor", torch.tensor(NAN, dtype=F64))


def numbers(op, ints=True):
    """Ops that keep the element type."""
    d = op.draw
    op("matrix", d.f(3, 4, low=-5, high=5))
    op("scalar tensor", d.f())
    op("empty", d.f(2, 0))
    op("double", d.f(3, dtype=F64))
    op("half", d.f(5, low=-5, high=5, dtype=F16))
    op("bfloat16", d.f(5, low=-5, high=5, dtype=BF16))
    op("special", torch.tensor([NAN, INF, -INF, 0.0, -0.0]))
    if ints:
        op("ints", d.i(2, 3))
        op("i8", d.i(4, dtype=I8))


def ternary(table):
    clamp = table.op("clamp", torch.clamp)
    d = clamp.draw
    x = d.f(3, 4)
    clamp("both", x, min=-0.5, max=0.75)
    clamp("min", x, min=0, max=None)
    clamp("max", x, min=None, max=0.25)
    clamp("crossed", x, min=1.0, max=-1.0)
    clamp("ints", d.i(6), min=-2, max=3)
    clamp("ints and floats", d.i(6), min=-1.5, max=None)
    clamp("half", d.f(5, dtype=F16), min=-0.3, max=0.3)
    clamp("nan", torch.tensor([NAN, INF, -INF]), min=-1.0, max=1.0)
    clamp.error("nothing", x, min=None, max=None)

    lerp = table.op("lerp", torch.lerp)
    d = lerp.draw
    lerp("number", d.f(2, 3), d.f(2, 3), 0.3)
    lerp("above half", d.f(2, 3), d.f(3), 0.8)
    lerp("tensor", d.f(2, 3), d.f(2, 3), d.f(2, 1))
    lerp("double", d.f(3, dtype=F64), d.f(3, dtype=F64), 0.25)
    lerp("half", d.f(4, dtype=F16), d.f(4, dtype=F16), 0.25)
    lerp.error("dtypes", d.f(3), d.f(3, dtype=F64), 0.5)
    lerp.error("ints", d.i(3), d.i(3), 0.5)
    lerp.error("shapes", d.f(3), d.f(4), 0.5)

    for name, divisor in (("addcmul", False), ("addcdiv", True)):
        op = table.op(name, getattr(torch, name))
        d = op.draw
        second = d.positive if divisor else d.f
        op("same shape", d.f(2, 3), d.f(2, 3), second(2, 3))
        op("broadcast", d.f(2, 1), d.f(3), second(1, 3))
        op("value", d.f(2, 3), d.f(2, 3), second(2, 3), value=-0.5)
        op("int value", d.f(3), d.f(3), second(3), value=2)
        op("double", d.f(3, dtype=F64), d.f(3, dtype=F64), second(3, dtype=F64))
        op("half", d.f(4, dtype=F16), d.f(4, dtype=F16), second(4, dtype=F16))
        op("promotion", d.f(3), d.f(3, dtype=F64), second(3))
        op("empty", d.f(0, 3), d.f(3), second(3))
        op.error("shapes", d.f(2, 3), d.f(4), second(3))

    where = table.op("where", torch.where)
    d = where.draw
    where("same shape", d.b(2, 3), d.f(2, 3), d.f(2, 3))
    where("broadcast", d.b(3), d.f(2, 1), d.f())
    where("number", d.b(2, 3), d.f(2, 3), 0.0)
    where("numbers", d.b(4), 1.0, 2.0)
    where("int numbers", d.b(4), 1, 0)
    where("number first", d.b(3), -1, d.f(3))
    where("promotion", d.b(3), d.i(3), d.f(3, dtype=F16))
    where("ints", d.b(4), d.i(4, dtype=I32), d.i(4))
    where.error("condition", d.f(3), d.f(3), d.f(3))
    where.error("shapes", d.b(3), d.f(4), d.f(4))

    fill = table.op("masked_fill", torch.masked_fill)
    d = fill.draw
    fill("same shape", d.f(2, 3), d.b(2, 3), -1.5)
    fill("infinity", d.f(3, 3), torch.ones(3, 3, dtype=torch.bool).triu(1), -INF)
    fill("broadcast mask", d.f(2, 3), d.b(3), 2)
    fill("broadcast input", d.f(1, 3), d.b(2, 3), 2.0)
    fill("tensor value", d.f(4), d.b(4), torch.tensor(0.5))
    fill("ints", d.i(4, dtype=I32), d.b(4), 7)
    fill("half", d.f(4, dtype=F16), d.b(4), -100)
    fill.error("mask", d.f(3), d.f(3), 0.0)
    fill("float value of ints", d.i(3), d.b(3), 2.75)
    fill.error("shapes", d.f(3), d.b(4), 0.0)

    nan = table.op("nan_to_num", torch.nan_to_num)
    x = torch.tensor([NAN, INF, -INF, 1.5])
    nan("defaults", x)
    nan("nan", x, nan=7.0)
    nan("infinities", x, posinf=1.0, neginf=-1.0)
    nan("half", x.half())
    nan("bfloat16", x.bfloat16())
    nan("double", x.double())
    nan("ints", nan.draw.i(3))


def copies(table):
    to = table.op("to", lambda x, dtype: x.to(dtype))
    d = to.draw
    x = d.f(2, 4, low=-100, high=100)
    for dtype, name in ((F64, "f64"), (F16, "f16"), (BF16, "bf16"), (I64, "i64"), (I32, "i32"), (I8, "i8"),
                        (torch.bool, "bool"), (torch.float32, "f32")):
        to(f"f32 to {name}", x, dtype=dtype)
    to("to u8", x.abs(), dtype=U8)
    to("zeros to bool", torch.tensor([0.0, -0.0, NAN, 0.25]), dtype=torch.bool)
    to("i64 to i8 wraps", torch.tensor([127, 128, 255, 256, -129]), dtype=I8)
    to("i32 to u8 wraps", torch.tensor([-1, 255, 256], dtype=I32), dtype=U8)
    to("bool to f32", d.b(4), dtype=torch.float32)
    to("half overflow", torch.tensor([65504.0, 70000.0, 1e-8]), dtype=F16)
    to("empty", d.f(0, 3), dtype=I64)

    for name, call in (("clone", torch.clone), ("contiguous", torch.Tensor.contiguous), ("detach", torch.detach)):
        op = table.op(name, call)
        op("matrix", op.draw.f(2, 3))
        op("scalar tensor", op.draw.i())
        op("bools", op.draw.b(4))
        op("empty", op.draw.f(0, 2, dtype=F16))
