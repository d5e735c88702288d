//! Normalisations on tensors: loops over contiguous rows, in parallel, sums in 16 parts at a time.

use fx_kernels::threads::for_each_piece;
use smallvec::SmallVec;

use crate::error::Result;
use crate::ops::fast;
use crate::ops::wide::{Number, in_floats, wide};
use crate::tensor::num::Real;
use crate::tensor::{DType, Tensor, numel};

type Opt<'a> = Option<&'a Tensor>;

/// The sum of `f` of a row's elements, in 16 parts.
fn total<R: Real>(row: &[R], f: impl Fn(R) -> R) -> R {
    let mut parts = [R::of(0.0); 16];
    let chunks = row.chunks_exact(16);
    let rest: R = chunks.remainder().iter().map(|&x| f(x)).sum();
    for chunk in chunks {
        for (part, &x) in parts.iter_mut().zip(chunk) {
            *part += f(x);
        }
    }
    parts.into_iter().sum::<R>() + rest
}

/// The mean and the variance of rows taken together, which must be equally long.
fn moments<'a, R: Real>(rows: impl Iterator<Item = &'a [R]> + Clone) -> (R, R) {
    let (mut sum, mut count) = (R::of(0.0), 0);
    for row in rows.clone() {
        sum += total(row, |x| x);
        count += row.len();
    }
    let count = R::of(count as f64);
    let mean = sum / count;
    let squares: R = rows.map(|row| total(row, |x| (x - mean) * (x - mean))).sum();
    (mean, squares / count)
}

/// A tensor as contiguous elements of the type it is computed in, and back.
fn computed<T: Number>(x: &Tensor, f: impl FnOnce(&mut [T])) -> Tensor {
    x.to_dtype(T::DTYPE).changed(f).to_dtype(x.dtype())
}

/// An operand's elements; none is a constant.
fn operand<T: Number>(x: Opt<'_>, count: usize, default: f64) -> Vec<T> {
    x.map_or_else(|| vec![T::of(default); count], |x| x.to_dtype(wide(T::DTYPE)).to_vec::<T>())
}

/// What multiplies and what is added, so that values of this mean and variance are normalised.
fn affine<T: Number>(mean: T, var: T, eps: f64, weight: T, bias: T) -> (T, T) {
    let scale = weight / (var + T::of(eps)).sqrt();
    (scale, bias - mean * scale)
}

/// The same for each channel of a batch norm whose statistics are known.
pub(crate) fn channel_factors(
    mean: &Tensor,
    var: &Tensor,
    weight: Opt<'_>,
    bias: Opt<'_>,
    eps: f64,
) -> Vec<(f64, f64)> {
    let channels = mean.numel();
    let of = |x: Opt<'_>, default: f64| operand::<f64>(x, channels, default);
    let (weight, bias) = (of(weight, 1.0), of(bias, 0.0));
    let statistics = of(Some(mean), 0.0).into_iter().zip(of(Some(var), 1.0));
    let factors = |((mean, var), (weight, bias))| affine(mean, var, eps, weight, bias);
    statistics.zip(weight.into_iter().zip(bias)).map(factors).collect()
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn batch_norm(
    x: &Tensor,
    mean: Opt<'_>,
    var: Opt<'_>,
    weight: Opt<'_>,
    bias: Opt<'_>,
    training: bool,
    _: f64,
    eps: f64,
) -> Result<Tensor> {
    let channels = x.shape()[1];
    let area = numel(&x.shape()[2..]);
    let y = in_floats!(x.dtype(), T => {
        let (weight, bias) = (operand::<T>(weight, channels, 1.0), operand::<T>(bias, channels, 0.0));
        let (mean, var) = (operand::<T>(mean, channels, 0.0), operand::<T>(var, channels, 1.0));
        let x = x.to_dtype(wide(x.dtype())).contiguous();
        let elements = x.as_slice::<T>().unwrap_or_default();
        let factors: Vec<(T, T)> = (0..channels)
            .map(|c| {
                let (mean, var) = if training {
                    moments(elements.chunks_exact(area.max(1)).skip(c).step_by(channels))
                } else {
                    (mean[c], var[c])
                };
                affine(mean, var, eps, weight[c], bias[c])
            })
            .collect();
        Tensor::written::<T>(x.shape(), |out| {
            // One image a piece where channels are short, so that a piece is worth its loop.
            for_each_piece(out, channels * area, 4 * elements.len(), |image, out| {
                let rows = elements[image * channels * area..].chunks_exact(area.max(1));
                for ((out, x), &(scale, shift)) in out.chunks_exact_mut(area.max(1)).zip(rows).zip(&factors) {
                    out.iter_mut().zip(x).for_each(|(out, x)| *out = *x * scale + shift);
                }
            });
        })
    });
    Ok(y.to_dtype(x.dtype()))
}

pub(super) fn layer_norm(
    x: &Tensor,
    weight: Opt<'_>,
    bias: Opt<'_>,
    shape: SmallVec<[i64; 4]>,
    eps: f64,
) -> Result<Tensor> {
    let len: usize = shape.iter().map(|&dim| dim as usize).product();
    if let Some(y) = fast::layer_norm(x, weight, bias, len, eps) {
        return Ok(y);
    }
    Ok(in_floats!(x.dtype(), T => computed::<T>(x, |x| {
        let (weight, bias) = (operand::<T>(weight, len, 1.0), operand::<T>(bias, len, 0.0));
        let work = 8 * x.len();
        for_each_piece(x, len, work, |_, row| {
            let (mean, var) = moments(std::iter::once(&*row));
            let scale = T::of(1.0) / (var + T::of(eps)).sqrt();
            for ((x, &weight), &bias) in row.iter_mut().zip(&weight).zip(&bias) {
                *x = (*x - mean) * scale * weight + bias;
            }
        });
    })))
}

pub(super) fn rms_norm(x: &Tensor, weight: Opt<'_>, shape: SmallVec<[i64; 4]>, eps: Option<f64>) -> Result<Tensor> {
    let len: usize = shape.iter().map(|&dim| dim as usize).product();
    let eps = eps.unwrap_or(match x.dtype() {
        DType::F64 => f64::EPSILON,
        _ => f64::from(f32::EPSILON),
    });
    if let Some(y) = fast::rms_norm(x, weight, len, eps) {
        return Ok(y);
    }
    Ok(in_floats!(x.dtype(), T => computed::<T>(x, |x| {
        let weight = operand::<T>(weight, len, 1.0);
        let work = 6 * x.len();
        for_each_piece(x, len, work, |_, row| {
            let square = total(row, |x| x * x) / T::of(len as f64);
            let scale = T::of(1.0) / (square + T::of(eps)).sqrt();
            row.iter_mut().zip(&weight).for_each(|(x, &weight)| *x = *x * scale * weight);
        });
    })))
}

/// Normalises groups of channels of each image.
fn groups(x: &Tensor, weight: Opt<'_>, bias: Opt<'_>, groups: usize, eps: f64) -> Tensor {
    if let Some(y) = fast::group_norm(x, weight, bias, groups, eps) {
        return y;
    }
    let channels = x.shape()[1];
    let area = numel(&x.shape()[2..]);
    in_floats!(x.dtype(), T => computed::<T>(x, |x| {
        let (weight, bias) = (operand::<T>(weight, channels, 1.0), operand::<T>(bias, channels, 0.0));
        let per_group = channels / groups;
        let work = 8 * x.len();
        for_each_piece(x, per_group * area, work, |index, group| {
            let (mean, var) = moments(std::iter::once(&*group));
            let first = index % groups * per_group;
            for (i, row) in group.chunks_exact_mut(area).enumerate() {
                let (scale, shift) = affine(mean, var, eps, weight[first + i], bias[first + i]);
                row.iter_mut().for_each(|x| *x = *x * scale + shift);
            }
        });
    }))
}

pub(super) fn group_norm(x: &Tensor, weight: Opt<'_>, bias: Opt<'_>, num_groups: i64, eps: f64) -> Result<Tensor> {
    Ok(groups(x, weight, bias, num_groups as usize, eps))
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn instance_norm(
    x: &Tensor,
    mean: Opt<'_>,
    var: Opt<'_>,
    weight: Opt<'_>,
    bias: Opt<'_>,
    use_input_stats: bool,
    momentum: f64,
    eps: f64,
) -> Result<Tensor> {
    if !use_input_stats {
        return batch_norm(x, mean, var, weight, bias, false, momentum, eps);
    }
    Ok(groups(x, weight, bias, x.shape()[1].max(1), eps))
}

pub(super) fn local_response_norm(x: &Tensor, size: i64, alpha: f64, beta: f64, k: f64) -> Result<Tensor> {
    let (channels, size) = (x.shape()[1], size as usize);
    let area = numel(&x.shape()[2..]);
    Ok(in_floats!(x.dtype(), T => computed::<T>(x, |x| {
        let (alpha, beta, k) = (T::of(alpha / size as f64), T::of(beta), T::of(k));
        let work = 20 * x.len();
        for_each_piece(x, channels * area, work, |_, image| {
            let squares: Vec<T> = image.iter().map(|&x| x * x).collect();
            let mut sums = vec![T::of(0.0); area];
            for (c, row) in image.chunks_exact_mut(area).enumerate() {
                sums.fill(T::of(0.0));
                // The window reaches back by half its size, the rest lies ahead.
                let (first, last) = (c.saturating_sub(size / 2), (c + (size - 1) / 2 + 1).min(channels));
                for squares in squares[first * area..last * area].chunks_exact(area) {
                    sums.iter_mut().zip(squares).for_each(|(sum, &x)| *sum += x);
                }
                row.iter_mut().zip(&sums).for_each(|(x, &sum)| *x /= (k + alpha * sum).powf(beta));
            }
        });
    })))
}
