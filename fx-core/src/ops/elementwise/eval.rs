//! Elementwise ops on tensors.

use fx_kernels::elementwise::{self as kernels, Binary, Ternary, Unary};

use crate::arg::Arg;
use crate::error::Result;
use crate::ops::fast;
use crate::ops::kind::Num;
use crate::ops::shape::{Rank, float_of, promote};
use crate::ops::wide::{in_floats, wide};
use crate::tensor::num::Real;
use crate::tensor::{DType, Element, Scalar, Tensor, dispatch, iter, view};

pub(super) type Number<'a> = Num<'a, Tensor>;

fn part(x: &Number<'_>) -> (DType, Rank) {
    match x {
        Num::Tensor(x) => (x.dtype(), Rank::of(x.ndim())),
        Num::Scalar(x) => (x.dtype(), Rank::Number),
        Num::Size(_) => (DType::I64, Rank::Number),
    }
}

fn scalar(x: &Number<'_>) -> Option<Scalar> {
    match x {
        Num::Tensor(_) => None,
        Num::Scalar(x) => Some(*x),
        Num::Size(x) => Some(Scalar::Int(*x)),
    }
}

/// The operand as a tensor of `dtype`; a number has no dimensions.
fn tensor(x: &Number<'_>, dtype: DType) -> Tensor {
    match (x, scalar(x)) {
        (Num::Tensor(x), _) => x.to_dtype(dtype),
        (_, number) => Tensor::filled([], number.unwrap_or(Scalar::Int(0)), dtype),
    }
}

/// The operands in their common element type.
pub(super) fn operands(a: &Number<'_>, b: &Number<'_>) -> (Tensor, Tensor) {
    let dtype = promote([part(a), part(b)]);
    (tensor(a, dtype), tensor(b, dtype))
}

/// `f32` or `f64` on floats, half floats in f32; `int` on integers, and on booleans as 0 and 1.
pub(super) fn arithmetic(
    a: &Tensor,
    b: &Tensor,
    f32: impl Fn(f32, f32) -> f32,
    f64: impl Fn(f64, f64) -> f64,
    int: impl Fn(i64, i64) -> i64,
) -> Tensor {
    let dtype = a.dtype();
    match compute_type(dtype) {
        DType::F32 => iter::zip::<f32, f32, f32>(&a.to_dtype(DType::F32), &b.to_dtype(DType::F32), f32),
        DType::F64 => iter::zip::<f64, f64, f64>(a, b, f64),
        _ => iter::zip::<i64, i64, i64>(&a.to_dtype(DType::I64), &b.to_dtype(DType::I64), int),
    }
    .to_dtype(dtype)
}

/// As [`arithmetic`], in f32 by a kernel.
pub(super) fn by_kernel(
    op: Binary,
    a: &Tensor,
    b: &Tensor,
    f32: impl Fn(f32, f32) -> f32,
    f64: impl Fn(f64, f64) -> f64,
    int: impl Fn(i64, i64) -> i64,
) -> Tensor {
    fast::binary(op, a, b).unwrap_or_else(|| arithmetic(a, b, f32, f64, int))
}

/// The type in which values of a type are computed: f32, f64 or i64. Every other type fits into one of them, and
/// rounding or wrapping at the end gives what computing in the type itself would.
pub(in crate::ops) fn compute_type(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 | DType::F32 => DType::F32,
        DType::F64 => DType::F64,
        _ => DType::I64,
    }
}

/// The result for two sizes, which are computed as symbolic ones are: they saturate.
pub(super) fn numbers(a: &Number<'_>, b: &Number<'_>, int: impl Fn(i64, i64) -> i64) -> Option<Arg<Tensor>> {
    match (scalar(a), scalar(b)) {
        (Some(Scalar::Int(a)), Some(Scalar::Int(b))) => Some(Arg::Int(int(a, b))),
        _ => None,
    }
}

pub(super) fn add(a: Number<'_>, b: Number<'_>, alpha: Scalar) -> Result<Arg<Tensor>> {
    let (whole, part, single) = (alpha.to_i64(), alpha.to_f64(), alpha.to_f64() as f32);
    if let Some(size) = numbers(&a, &b, |a, b| a.saturating_add(b.saturating_mul(whole))) {
        return Ok(size);
    }
    let (x, y) = operands(&a, &b);
    if part == 1.0 {
        return Ok(Arg::Value(sum(&x, &y)));
    }
    let int = |x: i64, y: i64| x.wrapping_add(y.wrapping_mul(whole));
    Ok(Arg::Value(arithmetic(&x, &y, |x, y| x + single * y, |x, y| x + part * y, int)))
}

/// The sums of the elements in the same place after broadcasting, which have one type.
fn sum(a: &Tensor, b: &Tensor) -> Tensor {
    by_kernel(Binary::Add, a, b, |x, y| x + y, |x, y| x + y, i64::wrapping_add)
}

/// The differences of the elements in the same place after broadcasting, which have one type.
fn difference(a: &Tensor, b: &Tensor) -> Tensor {
    by_kernel(Binary::Sub, a, b, |x, y| x - y, |x, y| x - y, i64::wrapping_sub)
}

pub(super) fn sub(a: Number<'_>, b: Number<'_>, alpha: Scalar) -> Result<Arg<Tensor>> {
    let whole = alpha.to_i64();
    if let Some(size) = numbers(&a, &b, |a, b| a.saturating_sub(b.saturating_mul(whole))) {
        return Ok(size);
    }
    let alpha = match alpha {
        Scalar::Float(x) => Scalar::Float(-x),
        other => Scalar::Int(other.to_i64().saturating_neg()),
    };
    if alpha.to_f64() == -1.0 {
        let (x, y) = operands(&a, &b);
        return Ok(Arg::Value(difference(&x, &y)));
    }
    add(a, b, alpha)
}

pub(super) fn mul(a: Number<'_>, b: Number<'_>) -> Result<Arg<Tensor>> {
    if let Some(size) = numbers(&a, &b, i64::saturating_mul) {
        return Ok(size);
    }
    let (x, y) = operands(&a, &b);
    Ok(Arg::Value(product(&x, &y)))
}

/// The products of the elements in the same place after broadcasting, which have one type.
pub(in crate::ops) fn product(a: &Tensor, b: &Tensor) -> Tensor {
    by_kernel(Binary::Mul, a, b, |x, y| x * y, |x, y| x * y, i64::wrapping_mul)
}

pub(super) fn pow(a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
    let (x, y) = operands(&a, &b);
    let int = |x: i64, y: i64| match u32::try_from(y) {
        Ok(y) => x.wrapping_pow(y),
        // A negative power of an integer is zero, but for 1 and -1.
        Err(_) => match x {
            1 => 1,
            -1 => {
                if y % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        },
    };
    if let (Some(exponent), DType::F32 | DType::F64) = (scalar(&b), x.dtype()) {
        return Ok(power(&x, exponent.to_f64()));
    }
    if compute_type(x.dtype()) == DType::F32 {
        return Ok(powers(&x.to_dtype(DType::F32), &y.to_dtype(DType::F32)).to_dtype(x.dtype()));
    }
    Ok(arithmetic(&x, &y, f32::powf, f64::powf, int))
}

/// Powers of f32.
fn powers(x: &Tensor, exponents: &Tensor) -> Tensor {
    if let (&[exponent], true) = (exponents.as_slice::<f32>().unwrap_or_default(), exponents.ndim() <= x.ndim()) {
        let x = x.contiguous();
        return Tensor::written(x.shape(), |out| kernels::power(out, x.as_slice().unwrap_or_default(), &[exponent]));
    }
    iter::zip_pieces(x, exponents, |x, y, out| kernels::power(out, x, y))
}

/// f32 or f64 to a power; small ones as products, as PyTorch does.
pub(in crate::ops) fn power(x: &Tensor, exponent: f64) -> Tensor {
    fn of<R: Element + Real>(x: &Tensor, exponent: f64) -> Tensor {
        match exponent {
            0.5 => iter::map::<R, R>(x, R::sqrt),
            1.0 => x.clone(),
            2.0 => iter::map::<R, R>(x, |x| x * x),
            3.0 => iter::map::<R, R>(x, |x| x * x * x),
            _ if R::DTYPE == DType::F32 => powers(x, &Tensor::scalar(exponent as f32)),
            _ => iter::map::<R, R>(x, move |x| x.powf(R::of(exponent))),
        }
    }
    in_floats!(x.dtype(), T => of::<T>(x, exponent))
}

fn max_float<R: Real>(x: R, y: R) -> R {
    if x.partial_cmp(&x).is_none() || x > y { x } else { y }
}

fn min_float<R: Real>(x: R, y: R) -> R {
    if x.partial_cmp(&x).is_none() || x < y { x } else { y }
}

pub(super) fn maximum(a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
    let (x, y) = operands(&a, &b);
    if x.dtype() == DType::I64 {
        return Ok(iter::zip_pieces(&x, &y, |x, y, out| kernels::larger(out, x, y)));
    }
    Ok(by_kernel(Binary::Maximum, &x, &y, max_float, max_float, i64::max))
}

pub(super) fn minimum(a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
    let (x, y) = operands(&a, &b);
    if x.dtype() == DType::I64 {
        return Ok(iter::zip_pieces(&x, &y, |x, y, out| kernels::smaller(out, x, y)));
    }
    Ok(by_kernel(Binary::Minimum, &x, &y, min_float, min_float, i64::min))
}

pub(super) fn atan2(a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
    let dtype = float_of(promote([part(&a), part(&b)]));
    Ok(by_kernel(Binary::Atan2, &tensor(&a, dtype), &tensor(&b, dtype), f32::atan2, f64::atan2, |x, _| x))
}

/// A function of two floats: of f64, or in f32.
fn of_floats(a: &Tensor, b: &Tensor, f32: impl Fn(f32, f32) -> f32, f64: impl Fn(f64, f64) -> f64) -> (Tensor, DType) {
    let (x, y) = operands(&Num::Tensor(a), &Num::Tensor(b));
    let dtype = x.dtype();
    let (x, y) = (x.to_dtype(wide(dtype)), y.to_dtype(wide(dtype)));
    let out = match dtype {
        DType::F64 => iter::zip::<f64, f64, f64>(&x, &y, f64),
        _ => iter::zip::<f32, f32, f32>(&x, &y, f32),
    };
    (out, dtype)
}

pub(super) fn logaddexp(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    fn distance<R: Real>(x: R, y: R) -> R {
        // Equal infinities have no difference.
        if x == y { R::of(0.0) } else { -(x - y).abs() }
    }
    let (distance, dtype) = of_floats(a, b, distance, distance);
    let [x, y] = [a, b].map(|x| x.to_dtype(distance.dtype()));
    let (more, most) = (log1p(&exp(&distance)?)?, maximum(Num::Tensor(&x), Num::Tensor(&y))?);
    Ok(sum(&most, &more).to_dtype(dtype))
}

pub(super) fn hypot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    // Squares of f32 fit an f64.
    let single = |x: f32, y: f32| {
        let (wide, tall) = (f64::from(x), f64::from(y));
        let root = (wide * wide + tall * tall).sqrt() as f32;
        if x.is_infinite() || y.is_infinite() { f32::INFINITY } else { root }
    };
    if let Some(y) = fast::binary(Binary::Hypot, a, b) {
        return Ok(y);
    }
    let (out, dtype) = of_floats(a, b, single, f64::hypot);
    Ok(out.to_dtype(dtype))
}

fn compare(a: &Number<'_>, b: &Number<'_>, f: impl Fn(std::cmp::Ordering) -> bool, unordered: bool) -> Result<Tensor> {
    let dtype = compute_type(promote([part(a), part(b)]));
    let (x, y) = operands(a, b);
    let (x, y) = (x.to_dtype(dtype), y.to_dtype(dtype));
    Ok(match dtype {
        DType::F32 => iter::zip::<f32, f32, bool>(&x, &y, |x, y| x.partial_cmp(&y).map_or(unordered, &f)),
        DType::F64 => iter::zip::<f64, f64, bool>(&x, &y, |x, y| x.partial_cmp(&y).map_or(unordered, &f)),
        _ => iter::zip::<i64, i64, bool>(&x, &y, |x, y| f(x.cmp(&y))),
    })
}

macro_rules! comparisons {
    ($($name:ident: $f:expr, $unordered:literal;)+) => { $(
        pub(super) fn $name(a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
            compare(&a, &b, $f, $unordered)
        }
    )+ };
}
comparisons! {
    eq: std::cmp::Ordering::is_eq, false;
    ne: std::cmp::Ordering::is_ne, true;
    lt: std::cmp::Ordering::is_lt, false;
    le: std::cmp::Ordering::is_le, false;
    gt: std::cmp::Ordering::is_gt, false;
    ge: std::cmp::Ordering::is_ge, false;
}

macro_rules! logic {
    ($($name:ident: $f:expr;)+) => { $(
        pub(super) fn $name(a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
            let (x, y) = (tensor(&a, DType::Bool), tensor(&b, DType::Bool));
            Ok(iter::zip::<bool, bool, bool>(&x, &y, $f))
        }
    )+ };
}
logic! {
    logical_and: |x, y| x && y;
    logical_or: |x, y| x || y;
    logical_xor: |x, y| x != y;
}

macro_rules! bits {
    ($($name:ident: $f:expr;)+) => { $(
        pub(super) fn $name(a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
            let (x, y) = operands(&a, &b);
            Ok(arithmetic(&x, &y, |x, _| x, |x, _| x, $f))
        }
    )+ };
}
bits! {
    bitwise_and: |x, y| x & y;
    bitwise_or: |x, y| x | y;
    bitwise_xor: |x, y| x ^ y;
}

pub(super) fn bitwise_not(x: &Tensor) -> Result<Tensor> {
    if x.dtype() == DType::Bool {
        return logical_not(x);
    }
    Ok(numeric(x, |x| x, |x| x, |x| !x))
}

pub(super) fn logical_not(x: &Tensor) -> Result<Tensor> {
    Ok(iter::map::<bool, bool>(&x.to_dtype(DType::Bool), |x| !x))
}

pub(super) fn isclose(a: Number<'_>, b: Number<'_>, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
    let (x, y) = (tensor(&a, DType::F64), tensor(&b, DType::F64));
    Ok(iter::zip::<f64, f64, bool>(&x, &y, |x, y| {
        x == y || (x.is_nan() && y.is_nan() && equal_nan) || (y.is_finite() && (x - y).abs() <= atol + rtol * y.abs())
    }))
}

/// A function of reals that can be written once for f32 and f64.
trait Function {
    /// The kernel that computes it in f32.
    const KERNEL: Option<Unary> = None;

    fn of<R: Real>(x: R) -> R;
}

/// Runs a function of reals; integers become the default float type.
fn real<F: Function>(x: &Tensor) -> Tensor {
    let dtype = float_of(x.dtype());
    if let Some(y) = F::KERNEL.filter(|_| x.dtype().is_float()).and_then(|kernel| fast::unary(kernel, x)) {
        return y;
    }
    match dtype {
        DType::F64 => iter::map::<f64, f64>(x, F::of),
        _ => iter::map_owned::<f32>(x.to_dtype(DType::F32), F::of).to_dtype(dtype),
    }
}

macro_rules! reals {
    ($($name:ident $(by $kernel:ident)?: |$x:ident| $body:expr;)+) => { $(
        pub(in crate::ops) fn $name(x: &Tensor) -> Result<Tensor> {
            struct This;

            impl Function for This {
                $(const KERNEL: Option<Unary> = Some(Unary::$kernel);)?

                fn of<R: Real>($x: R) -> R {
                    $body
                }
            }
            Ok(real::<This>(x))
        }
    )+ };
}
reals! {
    exp by Exp: |x| x.exp();
    expm1 by Expm1: |x| x.exp_m1();
    log by Log: |x| x.ln();
    log1p by Log1p: |x| x.ln_1p();
    log2 by Log2: |x| x.log2();
    log10 by Log10: |x| x.log10();
    sqrt by Sqrt: |x| x.sqrt();
    rsqrt by Rsqrt: |x| R::of(1.0) / x.sqrt();
    reciprocal by Reciprocal: |x| R::of(1.0) / x;
    sin by Sin: |x| x.sin();
    cos by Cos: |x| x.cos();
    tan by Tan: |x| x.tan();
    asin by Asin: |x| x.asin();
    acos by Acos: |x| x.acos();
    atan by Atan: |x| x.atan();
    sinh by Sinh: |x| x.sinh();
    cosh by Cosh: |x| x.cosh();
    asinh by Asinh: |x| x.asinh();
    acosh by Acosh: |x| x.acosh();
    atanh by Atanh: |x| x.atanh();
    tanh by Tanh: |x| x.tanh();
    erf by Erf: |x| x.erf();
    erfc by Erfc: |x| x.erfc();
    frac by Frac: |x| x - x.trunc();
    sigmoid by Sigmoid: |x| R::of(1.0) / (R::of(1.0) + (-x).exp());
}

/// Rounding leaves integers as they are.
fn rounding<F: Function>(x: &Tensor) -> Tensor {
    if x.dtype().is_float() { real::<F>(x) } else { x.clone() }
}

macro_rules! roundings {
    ($($name:ident $(by $kernel:ident)?: |$x:ident| $body:expr;)+) => { $(
        pub(super) fn $name(x: &Tensor) -> Result<Tensor> {
            struct This;

            impl Function for This {
                $(const KERNEL: Option<Unary> = Some(Unary::$kernel);)?

                fn of<R: Real>($x: R) -> R {
                    $body
                }
            }
            Ok(rounding::<This>(x))
        }
    )+ };
}
roundings! {
    floor by Floor: |x| x.floor();
    ceil by Ceil: |x| x.ceil();
    round by Round: |x| x.round();
    trunc by Trunc: |x| x.trunc();
}

/// A function on floats, written for both types that they are computed in, and one on integers.
fn numeric(x: &Tensor, f32: impl Fn(f32) -> f32, f64: impl Fn(f64) -> f64, int: impl Fn(i64) -> i64) -> Tensor {
    let wide = x.to_dtype(compute_type(x.dtype()));
    match wide.dtype() {
        DType::F32 => iter::map_owned(wide, f32),
        DType::F64 => iter::map_owned(wide, f64),
        _ => iter::map_owned(wide, int),
    }
    .to_dtype(x.dtype())
}

pub(super) fn abs(x: &Tensor) -> Result<Tensor> {
    if let Some(y) = fast::unary(Unary::Abs, x) {
        return Ok(y);
    }
    Ok(numeric(x, f32::abs, f64::abs, i64::wrapping_abs))
}

pub(super) fn neg(x: Number<'_>) -> Result<Arg<Tensor>> {
    Ok(match x {
        Num::Tensor(x) => {
            Arg::Value(fast::unary(Unary::Neg, x).unwrap_or_else(|| numeric(x, |x| -x, |x| -x, i64::wrapping_neg)))
        }
        Num::Size(x) | Num::Scalar(Scalar::Int(x)) => Arg::Int(x.saturating_neg()),
        Num::Scalar(x) => Arg::Float(-x.to_f64()),
    })
}

pub(super) fn sign(x: &Tensor) -> Result<Tensor> {
    fn sign<R: Real>(x: R) -> R {
        let (zero, one) = (R::of(0.0), R::of(1.0));
        let above = if x > zero { one } else { zero };
        let below = if x < zero { one } else { zero };
        above - below
    }
    Ok(numeric(x, sign, sign, i64::signum))
}

pub(super) fn square(x: &Tensor) -> Result<Tensor> {
    let x = if x.dtype() == DType::Bool { x.to_dtype(DType::I64) } else { x.clone() };
    Ok(arithmetic(&x, &x, |x, _| x * x, |x, _| x * x, |x, _| x.wrapping_mul(x)))
}

fn test(x: &Tensor, f: impl Fn(f64) -> bool) -> Result<Tensor> {
    Ok(iter::map::<f64, bool>(&x.to_dtype(DType::F64), f))
}

pub(super) fn isnan(x: &Tensor) -> Result<Tensor> {
    test(x, f64::is_nan)
}

pub(super) fn isinf(x: &Tensor) -> Result<Tensor> {
    test(x, f64::is_infinite)
}

pub(super) fn isfinite(x: &Tensor) -> Result<Tensor> {
    test(x, f64::is_finite)
}

pub(super) fn clamp(x: &Tensor, min: Option<Scalar>, max: Option<Scalar>) -> Result<Tensor> {
    let dtype = [min, max].into_iter().flatten().fold(x.dtype(), |dtype, bound| bound.promote(dtype));
    let x = x.to_dtype(dtype);
    Ok(dispatch!(dtype, T => {
        let (min, max) = (min.map(T::from_scalar), max.map(T::from_scalar));
        iter::map_owned::<T>(x, move |mut x| {
            if let Some(min) = min && x < min {
                x = min;
            }
            if let Some(max) = max && x > max {
                x = max;
            }
            x
        })
    }))
}

/// `f` of the elements of three tensors, in the type that floats of their common type compute in; integers in f64, which has
/// more of them.
macro_rules! ternary {
    ($x:expr, $y:expr, $z:expr, |$a:ident, $b:ident, $c:ident, $R:ident| $body:expr) => {{
        let dtype = promote([$x, $y, $z].map(|x: &Tensor| (x.dtype(), Rank::of(x.ndim()))));
        let inner = if dtype.is_float() { wide(dtype) } else { DType::F64 };
        let [x, y, z] = [$x, $y, $z].map(|x: &Tensor| x.to_dtype(inner));
        in_floats!(inner, $R => iter::zip3::<$R, $R, $R, $R>(&x, &y, &z, |$a, $b, $c| $body)).to_dtype(dtype)
    }};
}

pub(super) fn lerp(x: &Tensor, end: &Tensor, weight: Number<'_>) -> Result<Tensor> {
    let weight = tensor(&weight, x.dtype());
    if let Some(y) = fast::ternary(Ternary::Lerp, [x, end, &weight]) {
        return Ok(y);
    }
    Ok(ternary!(x, end, &weight, |x, end, weight, R| {
        if weight.abs() < R::of(0.5) { x + weight * (end - x) } else { end - (end - x) * (R::of(1.0) - weight) }
    }))
}

pub(super) fn addcmul(x: &Tensor, a: &Tensor, b: &Tensor, value: Scalar) -> Result<Tensor> {
    let value = value.to_f64();
    Ok(ternary!(x, a, b, |x, a, b, R| x + R::of(value) * a * b))
}

pub(super) fn addcdiv(x: &Tensor, a: &Tensor, b: &Tensor, value: Scalar) -> Result<Tensor> {
    let value = value.to_f64();
    Ok(ternary!(x, a, b, |x, a, b, R| x + R::of(value) * a / b))
}

pub(super) fn where_(condition: &Tensor, a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
    let (x, y) = operands(&a, &b);
    Ok(iter::choose(condition, &x, &y))
}

pub(super) fn masked_fill(x: &Tensor, mask: &Tensor, value: Number<'_>) -> Result<Tensor> {
    let value = tensor(&value, x.dtype()).item();
    Ok(iter::choose(mask, &Tensor::filled([], value, x.dtype()), x))
}

pub(super) fn nan_to_num(x: &Tensor, nan: Option<f64>, posinf: Option<f64>, neginf: Option<f64>) -> Result<Tensor> {
    let (lowest, highest) = match x.dtype() {
        DType::F16 => (half::f16::MIN.to_f64(), half::f16::MAX.to_f64()),
        DType::BF16 => (half::bf16::MIN.to_f64(), half::bf16::MAX.to_f64()),
        DType::F32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
        _ => (f64::MIN, f64::MAX),
    };
    let [nan, above, below] = [nan.unwrap_or(0.0), posinf.unwrap_or(highest), neginf.unwrap_or(lowest)];
    if let Some(y) = fast::unary(Unary::NanToNum(nan as f32, above as f32, below as f32), x) {
        return Ok(y);
    }
    let replaced = |x: f64| match x {
        f64::INFINITY => above,
        f64::NEG_INFINITY => below,
        x if x.is_nan() => nan,
        x => x,
    };
    Ok(if x.dtype() == DType::F64 { iter::map::<f64, f64>(x, replaced) } else { x.clone() })
}

pub(super) fn to(x: &Tensor, dtype: DType) -> Result<Tensor> {
    Ok(x.to_dtype(dtype))
}

pub(super) fn identity(x: &Tensor) -> Result<Tensor> {
    Ok(x.clone())
}

pub(super) fn contiguous(x: &Tensor) -> Result<Tensor> {
    Ok(view::reshape(&x.contiguous(), x.shape()))
}
