//! Losses of distances between vectors. Computed in f64, but where it says otherwise.

use super::eval::{Word, common, reduced};
use super::infer::promoted;
use crate::error::Result;
use crate::ops::reduction::norm_rows;
use crate::ops::shape::float_of;
use crate::ops::wide::in_floats;
use crate::tensor::num::Real;
use crate::tensor::{DType, Tensor, iter};

fn wide(x: &Tensor) -> Tensor {
    x.to_dtype(DType::F64)
}

pub(super) fn margin_ranking_loss(
    x: &Tensor,
    y: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Word,
) -> Result<Tensor> {
    let dtype = float_of(promoted(&[x, y, target].map(|x| (x.dtype(), x.ndim()))));
    let loss = iter::zip3::<f64, f64, f64, f64>(&wide(x), &wide(y), &wide(target), |x, y, target| {
        let loss = margin - target * (x - y);
        if loss < 0.0 { 0.0 } else { loss }
    });
    Ok(reduced(loss.to_dtype(dtype), &reduction))
}

/// The sums of products along the last dimension.
fn dot(x: &Tensor, y: &Tensor) -> Tensor {
    let products = iter::zip::<f64, f64, f64>(x, y, |x, y| x * y);
    iter::lanes(&products, &[products.ndim() - 1]).map::<f64, f64>(|row| row.iter().sum())
}

pub(super) fn cosine_embedding_loss(
    x: &Tensor,
    y: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Word,
) -> Result<Tensor> {
    /// PyTorch's guard against a division by zero.
    const EPSILON: f64 = 1e-12;
    let dtype = float_of(common(x, y));
    let (x, y) = (wide(x), wide(y));
    let cosine = iter::zip3::<f64, f64, f64, f64>(&dot(&x, &y), &dot(&x, &x), &dot(&y, &y), |dot, x, y| {
        dot / ((x + EPSILON) * (y + EPSILON)).sqrt()
    });
    let loss = iter::zip::<f64, f64, f64>(&cosine, &wide(target), |cosine, target| {
        if target == 1.0 {
            1.0 - cosine
        } else if target == -1.0 {
            if cosine - margin < 0.0 { 0.0 } else { cosine - margin }
        } else {
            0.0
        }
    });
    Ok(reduced(loss.to_dtype(dtype), &reduction))
}

pub(super) fn triplet_margin_loss(
    anchor: &Tensor,
    positive: &Tensor,
    negative: &Tensor,
    margin: f64,
    p: f64,
    eps: f64,
    reduction: Word,
) -> Result<Tensor> {
    let dtype = float_of(promoted(&[anchor, positive, negative].map(|x| (x.dtype(), x.ndim()))));
    // The distances of f32 are rounded to f32, as in PyTorch.
    let inner = if dtype == DType::F32 { DType::F32 } else { DType::F64 };
    let distance = |other: &Tensor| {
        let [a, b] = [anchor, other].map(|x| x.to_dtype(inner));
        let difference = in_floats!(inner, T => {
            let eps = <T as Real>::of(eps);
            iter::zip::<T, T, T>(&a, &b, move |a, b| a - b + eps)
        });
        let last = difference.ndim().checked_sub(1);
        wide(&norm_rows(&difference, p, last.as_slice(), false))
    };
    let loss = iter::zip::<f64, f64, f64>(&distance(positive), &distance(negative), |near, far| {
        let loss = margin + near - far;
        if loss < 0.0 { 0.0 } else { loss }
    });
    Ok(reduced(loss.to_dtype(dtype), &reduction))
}
