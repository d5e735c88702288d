//! Losses that are computed element by element.

use std::borrow::Cow;

use fx_kernels::elementwise::{Binary, Unary};
use fx_kernels::rows::Reduction;

use crate::error::{Error, Result};
use crate::ops::fast;
use crate::ops::reduction::sum_of_each;
use crate::ops::shape::{Rank, float_of, promote};
use crate::ops::wide::{in_floats, wide};
use crate::tensor::num::Real;
use crate::tensor::{DType, Dims, Element, Tensor, dispatch, iter};

pub(super) type Word = Cow<'static, str>;

/// The loss after its reduction; what has no kernel is summed in f64.
pub(super) fn reduced(loss: Tensor, reduction: &str) -> Tensor {
    if reduction == "none" {
        return loss;
    }
    if !loss.dtype().is_float() {
        let sum = loss.to_vec_as::<i64>().into_iter().fold(0_i64, i64::wrapping_add);
        return Tensor::scalar(sum);
    }
    let all: Dims = (0..loss.ndim()).collect();
    let kernel = if reduction == "mean" { Reduction::Mean } else { Reduction::Sum };
    if let Some(sum) = fast::reduce(kernel, &loss, &all) {
        return sum;
    }
    let sum = in_floats!(loss.dtype(), T => {
        sum_of_each(loss.to_dtype(T::DTYPE).contiguous().as_slice::<T>().unwrap_or_default(), |x| x)
    });
    let count = if reduction == "mean" { loss.numel() as f64 } else { 1.0 };
    Tensor::scalar(sum / count).to_dtype(loss.dtype())
}

/// The element type that two tensors have in common.
pub(super) fn common(x: &Tensor, y: &Tensor) -> DType {
    promote([(x.dtype(), Rank::of(x.ndim())), (y.dtype(), Rank::of(y.ndim()))])
}

/// Both in the element type that they have after broadcasting, when their dimensions do not matter to promotion.
fn alike(x: &Tensor, y: &Tensor) -> (Tensor, Tensor) {
    let dtype = DType::promote(x.dtype(), y.dtype());
    (x.to_dtype(dtype), y.to_dtype(dtype))
}

/// `f` of the elements of two tensors, in the type that floats of their common type compute in.
macro_rules! pointwise {
    ($x:expr, $y:expr, |$a:ident, $b:ident| $body:expr) => {{
        let dtype = float_of(common($x, $y));
        let convert = |x: &Tensor| x.to_dtype(dtype).to_dtype(wide(dtype));
        in_floats!(dtype, T => iter::zip::<T, T, T>(&convert($x), &convert($y), move |$a, $b| $body)).to_dtype(dtype)
    }};
}

fn of<R: Real>(_: R, x: f64) -> R {
    R::of(x)
}

/// A loss of the distances `z` between the elements of two tensors, in the float type that they have in common: `steepness * z * z` up to
/// the bound, and beyond it the line that goes on from there with `slope`.
fn distances(x: &Tensor, y: &Tensor, bound: f64, steepness: f64, slope: f64) -> Tensor {
    let (x, y) = alike(x, y);
    let dtype = float_of(common(&x, &y));
    let op = Binary::Distance(bound as f32, steepness as f32, slope as f32);
    if let Some(loss) = fast::binary(op, &x.to_dtype(dtype), &y.to_dtype(dtype)) {
        return loss;
    }
    pointwise!(&x, &y, |x, y| {
        let z = (x - y).abs();
        if z <= of(x, bound) { of(x, steepness) * z * z } else { of(x, slope) * (z - of(x, 0.5 * bound)) }
    })
}

pub(super) fn mse_loss(x: &Tensor, y: &Tensor, reduction: Word) -> Result<Tensor> {
    Ok(reduced(distances(x, y, f64::INFINITY, 1.0, 0.0), &reduction))
}

/// The distances themselves, of floats.
fn sizes(x: &Tensor, y: &Tensor) -> Tensor {
    distances(x, y, 0.0, 0.0, 1.0)
}

pub(super) fn l1_loss(x: &Tensor, y: &Tensor, reduction: Word) -> Result<Tensor> {
    let (x, y) = alike(x, y);
    if x.dtype().is_float() {
        return Ok(reduced(sizes(&x, &y), &reduction));
    }
    // The difference is an integer of the same type, and so is its size.
    let [a, b] = [&x, &y].map(|x| x.to_dtype(DType::I64));
    let difference = iter::zip::<i64, i64, i64>(&a, &b, i64::wrapping_sub).to_dtype(x.dtype());
    let loss = iter::map::<i64, i64>(&difference.to_dtype(DType::I64), i64::wrapping_abs).to_dtype(x.dtype());
    Ok(reduced(loss, &reduction))
}

pub(super) fn smooth_l1_loss(x: &Tensor, y: &Tensor, reduction: Word, beta: f64) -> Result<Tensor> {
    let loss = if beta == 0.0 { sizes(x, y) } else { distances(x, y, beta, 0.5 / beta, 1.0) };
    Ok(reduced(loss, &reduction))
}

pub(super) fn huber_loss(x: &Tensor, y: &Tensor, reduction: Word, delta: f64) -> Result<Tensor> {
    let dtype = DType::promote(x.dtype(), y.dtype());
    Ok(reduced(distances(x, y, delta, 0.5, delta).to_dtype(dtype), &reduction))
}

/// The elements of a loss times a weight, in the loss's element type.
fn weighted(loss: Tensor, weight: Option<&Tensor>) -> Tensor {
    let Some(weight) = weight else { return loss };
    let [x, weight] = [&loss, weight].map(|x| x.to_dtype(DType::F64));
    iter::zip::<f64, f64, f64>(&x, &weight, |loss, weight| loss * weight).to_dtype(loss.dtype())
}

pub(super) fn binary_cross_entropy(
    x: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Word,
) -> Result<Tensor> {
    if let Some(wrong) = x.to_vec_as::<f64>().into_iter().find(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::argument(format!("a probability lies between 0 and 1, found {wrong}")));
    }
    let loss = pointwise!(x, target, |x, y| {
        let least = of(x, -100.0);
        let bounded = |log| if log < least { least } else { log };
        (y - of(x, 1.0)) * bounded((-x).ln_1p()) - y * bounded(x.ln())
    });
    Ok(reduced(weighted(loss, weight), &reduction))
}

pub(super) fn binary_cross_entropy_with_logits(
    x: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    pos_weight: Option<&Tensor>,
    reduction: Word,
) -> Result<Tensor> {
    let dtype = wide(common(x, target));
    let [x, y] = [x, target].map(|x| x.to_dtype(dtype));
    let in_double = || iter::map::<f64, f64>(&x, |x| x.min(0.0) - (-x.abs()).exp().ln_1p());
    let logs = fast::unary(Unary::LogSigmoid, &x).unwrap_or_else(in_double);
    let loss = in_floats!(dtype, T => {
        let one = <T as Real>::of(1.0);
        let logs = match pos_weight.map(|weight| weight.to_dtype(dtype)) {
            Some(weight) => iter::zip3::<T, T, T, T>(&logs, &y, &weight, |log, y, weight| ((weight - one) * y + one) * log),
            None => logs,
        };
        iter::zip3::<T, T, T, T>(&x, &y, &logs, |x, y, log| (one - y) * x - log)
    });
    Ok(reduced(weighted(loss.to_dtype(target.dtype()), weight), &reduction))
}

pub(super) fn kl_div(x: &Tensor, target: &Tensor, reduction: Word, log_target: bool) -> Result<Tensor> {
    let loss = if log_target {
        pointwise!(x, target, |x, y| y.exp() * (y - x))
    } else {
        pointwise!(x, target, |x, y| {
            let entropy = if y == of(x, 0.0) { y } else { y * y.ln() };
            entropy - y * x
        })
    };
    if reduction != "batchmean" {
        return Ok(reduced(loss, &reduction));
    }
    let count = x.shape().first().map_or(1.0, |&count| count as f64);
    let sum = reduced(loss, "sum");
    Ok(Tensor::scalar(sum.item().to_f64() / count).to_dtype(sum.dtype()))
}

pub(super) fn poisson_nll_loss(
    x: &Tensor,
    target: &Tensor,
    log_input: bool,
    full: bool,
    eps: f64,
    reduction: Word,
) -> Result<Tensor> {
    let x = x.to_dtype(float_of(x.dtype()));
    let loss = pointwise!(&x, target, |x, y| {
        let loss = if log_input { x.exp() - y * x } else { x - y * (x + of(x, eps)).ln() };
        if full && y > of(x, 1.0) {
            loss + y * y.ln() - y + of(x, 0.5) * (of(x, std::f64::consts::TAU) * y).ln()
        } else {
            loss
        }
    });
    Ok(reduced(loss, &reduction))
}

pub(super) fn hinge_embedding_loss(x: &Tensor, target: &Tensor, margin: f64, reduction: Word) -> Result<Tensor> {
    let [input, target] = [x, target].map(|x| x.to_dtype(DType::F64));
    // The margin of integers is an integer, and integers wrap, as they do in a subtraction.
    let rounded: fn(f64) -> f64 = dispatch!(x.dtype(), T => |x| T::from_f64(x).to_f64());
    let margin = rounded(margin);
    let loss = iter::zip::<f64, f64, f64>(&input, &target, |x, y| {
        let lack = rounded(margin - x);
        let lack = if y == 1.0 || lack < 0.0 { 0.0 } else { lack };
        let own = if y == -1.0 { 0.0 } else { x };
        lack + own
    });
    Ok(reduced(loss.to_dtype(x.dtype()), &reduction))
}
