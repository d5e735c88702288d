//! Activations on tensors.

use std::borrow::Cow;

use fx_kernels::elementwise::{Binary, Unary};
use fx_kernels::rows::Softmax as Form;
use smallvec::SmallVec;

use crate::error::Result;
use crate::ops::reduction::divisor_norms;
use crate::ops::wide::{in_ordered, wide};
use crate::ops::{elementwise, fast, shape};
use crate::tensor::num::Real;
use crate::tensor::{DType, Element, Tensor, dispatch, iter, numel, random, view};

/// Runs a function, written once for f32 and f64, over the elements; in f32 by a kernel, where one is given.
macro_rules! real {
    ($x:expr, $kernel:expr, |$v:ident: $R:ident $(, $p:ident)*| $body:expr) => {{
        let x: &Tensor = $x;
        match fast::unary($kernel, x) {
            Some(y) => y,
            None => real!(x, |$v: $R $(, $p)*| $body),
        }
    }};
    ($x:expr, |$v:ident: $R:ident $(, $p:ident)*| $body:expr) => {{
        fn function<$R: Real>($v: $R $(, $p: f64)*) -> $R {
            $(let $p = $R::of($p);)*
            $body
        }
        let x: &Tensor = $x;
        match x.dtype() {
            DType::F64 => iter::map::<f64, f64>(x, move |x| function(x $(, $p)*)),
            dtype => iter::map_owned::<f32>(x.to_dtype(DType::F32), move |x| function(x $(, $p)*)).to_dtype(dtype),
        }
    }};
}

/// A function of two floats; half floats are computed in f32.
fn both(a: &Tensor, b: &Tensor, f32: impl Fn(f32, f32) -> f32, f64: impl Fn(f64, f64) -> f64) -> Tensor {
    match a.dtype() {
        DType::F64 => iter::zip::<f64, f64, f64>(a, b, f64),
        dtype => iter::zip::<f32, f32, f32>(&a.to_dtype(DType::F32), &b.to_dtype(DType::F32), f32).to_dtype(dtype),
    }
}

fn max<R: Real>(x: R, y: R) -> R {
    if x < y { y } else { x }
}

fn min<R: Real>(x: R, y: R) -> R {
    if x > y { y } else { x }
}

pub(super) fn relu(x: &Tensor) -> Result<Tensor> {
    if let Some(y) = fast::unary(Unary::Relu, x) {
        return Ok(y);
    }
    Ok(in_ordered!(x.dtype(), T => {
        let zero = T::from_i64(0);
        iter::map::<T, T>(&x.to_dtype(T::DTYPE), move |x| if x < zero { zero } else { x })
    })
    .to_dtype(x.dtype()))
}

fn between(x: &Tensor, low: f64, high: f64) -> Tensor {
    if x.dtype() == DType::F32
        && let Some(y) = fast::unary(Unary::Clamp(low as f32, high as f32), x)
    {
        return y;
    }
    in_ordered!(x.dtype(), T => {
        let (low, high) = (T::from_f64(low), T::from_f64(high));
        iter::map::<T, T>(&x.to_dtype(T::DTYPE), move |x| if x < low { low } else if x > high { high } else { x })
    })
    .to_dtype(x.dtype())
}

pub(super) fn relu6(x: &Tensor) -> Result<Tensor> {
    Ok(between(x, 0.0, 6.0))
}

pub(super) fn hardtanh(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    Ok(between(x, low, high))
}

pub(super) fn elu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    Ok(real!(x, Unary::Elu(alpha as f32), |x: R, alpha| if x > R::of(0.0) { x } else { alpha * x.exp_m1() }))
}

pub(super) fn selu(x: &Tensor) -> Result<Tensor> {
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    const SCALE: f64 = 1.050_700_987_355_480_5;
    Ok(real!(x, Unary::Selu, |x: R| if x > R::of(0.0) { R::of(SCALE) * x } else { R::of(SCALE * ALPHA) * x.exp_m1() }))
}

pub(super) fn celu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    Ok(real!(x, Unary::Celu(alpha as f32), |x: R, alpha| if x > R::of(0.0) { x } else { alpha * (x / alpha).exp_m1() }))
}

pub(super) fn leaky_relu(x: &Tensor, negative_slope: f64) -> Result<Tensor> {
    Ok(real!(x, Unary::LeakyRelu(negative_slope as f32), |x: R, negative_slope| if x > R::of(0.0) {
        x
    } else {
        negative_slope * x
    }))
}

pub(super) fn prelu(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let weight = if weight.numel() == 1 {
        view::reshape(weight, &[])
    } else {
        let mut dims = vec![1; x.ndim()];
        dims[1] = weight.numel();
        view::reshape(weight, &dims)
    };
    if let Some(y) = fast::binary(Binary::Prelu, x, &weight) {
        return Ok(y);
    }
    Ok(both(
        x,
        &weight,
        |x, weight| if x > 0.0 { x } else { weight * x },
        |x, weight| if x > 0.0 { x } else { weight * x },
    ))
}

pub(super) fn gelu(x: &Tensor, approximate: Cow<'static, str>) -> Result<Tensor> {
    if approximate == "tanh" {
        /// The square root of 2 over pi.
        const SCALE: f64 = 0.797_884_560_802_865_4;
        return Ok(real!(x, Unary::GeluTanh, |x: R| {
            let inner = R::of(SCALE) * (x + R::of(0.044_715) * x * x * x);
            R::of(0.5) * x * (R::of(1.0) + inner.tanh())
        }));
    }
    Ok(real!(x, Unary::Gelu, |x: R| R::of(0.5) * x * (R::of(1.0) + (x * R::of(std::f64::consts::FRAC_1_SQRT_2)).erf())))
}

pub(super) fn silu(x: &Tensor) -> Result<Tensor> {
    Ok(real!(x, Unary::Silu, |x: R| x / (R::of(1.0) + (-x).exp())))
}

pub(super) fn mish(x: &Tensor) -> Result<Tensor> {
    Ok(real!(x, Unary::Mish, |x: R| x * (if x > R::of(20.0) { x } else { x.exp().ln_1p() }).tanh()))
}

pub(super) fn softplus(x: &Tensor, beta: f64, threshold: f64) -> Result<Tensor> {
    Ok(real!(x, Unary::Softplus(beta as f32, threshold as f32), |x: R, beta, threshold| if x * beta > threshold {
        x
    } else {
        (x * beta).exp().ln_1p() / beta
    }))
}

pub(super) fn softsign(x: &Tensor) -> Result<Tensor> {
    Ok(real!(&x.to_dtype(shape::float_of(x.dtype())), |x: R| x / (R::of(1.0) + x.abs())))
}

pub(super) fn hardsigmoid(x: &Tensor) -> Result<Tensor> {
    Ok(real!(x, Unary::Hardsigmoid, |x: R| min(max(x + R::of(3.0), R::of(0.0)), R::of(6.0)) / R::of(6.0)))
}

pub(super) fn hardswish(x: &Tensor) -> Result<Tensor> {
    Ok(real!(x, Unary::Hardswish, |x: R| x * min(max(x + R::of(3.0), R::of(0.0)), R::of(6.0)) / R::of(6.0)))
}

pub(super) fn logsigmoid(x: &Tensor) -> Result<Tensor> {
    Ok(real!(x, Unary::LogSigmoid, |x: R| min(x, R::of(0.0)) - (-x.abs()).exp().ln_1p()))
}

pub(super) fn tanhshrink(x: &Tensor) -> Result<Tensor> {
    // The tanh is rounded to the element type before it is subtracted, as in PyTorch.
    let x = &x.to_dtype(shape::float_of(x.dtype()));
    let tanh = real!(x, |x: R| x.tanh());
    Ok(both(x, &tanh, |x, tanh| x - tanh, |x, tanh| x - tanh))
}

pub(super) fn softshrink(x: &Tensor, lambd: f64) -> Result<Tensor> {
    Ok(real!(x, |x: R, lambd| if x > lambd {
        x - lambd
    } else if x < -lambd {
        x + lambd
    } else {
        R::of(0.0) * x
    }))
}

pub(super) fn hardshrink(x: &Tensor, lambd: f64) -> Result<Tensor> {
    Ok(real!(x, |x: R, lambd| if x >= -lambd && x <= lambd { R::of(0.0) } else { x }))
}

pub(super) fn threshold(x: &Tensor, threshold: f64, value: f64) -> Result<Tensor> {
    Ok(dispatch!(x.dtype(), T => {
        let (threshold, value) = (T::from_f64(threshold), T::from_f64(value));
        iter::map::<T, T>(x, move |x| if x <= threshold { value } else { x })
    }))
}

pub(super) fn glu(x: &Tensor, dim: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let half = x.shape()[dim] / 2;
    let wide = x.to_dtype(wide(x.dtype()));
    let (a, b) = (view::narrow(&wide, dim, 0, half), view::narrow(&wide, dim, half, half));
    Ok(elementwise::product(&a, &elementwise::eval_sigmoid(&b)?).to_dtype(x.dtype()))
}

/// Rewrites every row along a dimension, in the type that the elements compute in.
fn rows(x: &Tensor, dim: i64, form: Form, f: impl Fn32And64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    if let Some(y) = fast::softmax(form, x, dim) {
        return Ok(y);
    }
    if x.ndim() == 0 {
        return rows(&view::reshape(x, &[1]), 0, form, f).map(|y| view::reshape(&y, &[]));
    }
    let last = x.ndim() - 1;
    let moved = view::transpose(x, dim, last).contiguous();
    let len = x.shape()[dim];
    let y = match x.dtype() {
        DType::F32 => run_rows::<f32>(moved, len, |row| f.run(row)),
        DType::F64 => run_rows::<f64>(moved, len, |row| f.run(row)),
        dtype => run_rows::<f32>(moved.to_dtype(DType::F32), len, |row| f.run(row)).to_dtype(dtype),
    };
    Ok(view::transpose(&y, dim, last))
}

fn run_rows<T: Element>(x: Tensor, len: usize, f: impl Fn(&mut [T]) + Sync) -> Tensor {
    let work = x.numel() * 20;
    x.changed::<T>(|elements| fx_kernels::threads::for_each_piece(elements, len, work, |_, row| f(row)))
}

/// A function of a row, for both types.
trait Fn32And64: Sync {
    fn run<R: Real>(&self, row: &mut [R]);
}

struct Softmax;

impl Fn32And64 for Softmax {
    fn run<R: Real>(&self, row: &mut [R]) {
        let highest = row.iter().copied().fold(R::of(f64::NEG_INFINITY), max);
        row.iter_mut().for_each(|x| *x = (*x - highest).exp());
        let sum: R = row.iter().copied().sum();
        let scale = R::of(1.0) / sum;
        row.iter_mut().for_each(|x| *x = *x * scale);
    }
}

struct LogSoftmax;

impl Fn32And64 for LogSoftmax {
    fn run<R: Real>(&self, row: &mut [R]) {
        let highest = row.iter().copied().fold(R::of(f64::NEG_INFINITY), max);
        let sum: R = row.iter().map(|x| (*x - highest).exp()).sum();
        let log = sum.ln();
        row.iter_mut().for_each(|x| *x = *x - highest - log);
    }
}

pub(crate) fn softmax(x: &Tensor, dim: i64) -> Result<Tensor> {
    rows(x, dim, Form::Plain, Softmax)
}

pub(super) fn softmin(x: &Tensor, dim: i64) -> Result<Tensor> {
    rows(&real!(x, |x: R| -x), dim, Form::Plain, Softmax)
}

pub(crate) fn log_softmax(x: &Tensor, dim: i64) -> Result<Tensor> {
    rows(x, dim, Form::Log, LogSoftmax)
}

pub(super) fn normalize(x: &Tensor, p: f64, dim: SmallVec<[i64; 4]>, eps: f64) -> Result<Tensor> {
    let dims = shape::dims(Some(&dim), x.ndim())?;
    let norm = divisor_norms(x, p, &dims, true, eps);
    let [wide, norm] = [x, &norm].map(|x| x.to_dtype(wide(x.dtype())));
    Ok(elementwise::quotient(&wide, &norm).to_dtype(x.dtype()))
}

pub(super) fn dropout(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    masked(x, p, training, x.shape().to_vec())
}

pub(super) fn feature_dropout(x: &Tensor, p: f64, training: bool) -> Result<Tensor> {
    let mask = x.shape().iter().enumerate().map(|(i, &dim)| if i < 2 { dim } else { 1 }).collect();
    masked(x, p, training, mask)
}

/// Sets parts of the elements to zero; the mask broadcasts.
fn masked(x: &Tensor, p: f64, training: bool, mask: Vec<usize>) -> Result<Tensor> {
    if !training || p == 0.0 {
        return Ok(x.clone());
    }
    let scale = if p < 1.0 { 1.0 / (1.0 - p) } else { 0.0 };
    let numel = numel(&mask);
    let factors: Vec<f64> = random::with_default(|generator| {
        (0..numel).map(|_| if generator.uniform() < p { 0.0 } else { scale }).collect()
    });
    let mask = Tensor::from_vec(mask, factors);
    let mask = mask.to_dtype(x.dtype());
    let drop32 = |x: f32, factor: f32| if factor == 0.0 { 0.0 } else { x * factor };
    Ok(both(x, &mask, drop32, |x, factor| if factor == 0.0 { 0.0 } else { x * factor }))
}
