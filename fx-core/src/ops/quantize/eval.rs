//! Quantized values on tensors: loops over f32, in parallel; other types are converted before.

use fx_kernels::rows::{Reduction, reduce};
use fx_kernels::threads::for_each_piece;
use fx_kernels::{Steps, quantize};

use crate::error::{Error, Result};
use crate::ops::kind::Num;
use crate::ops::shape;
use crate::tensor::{DType, Element, Scalar, Tensor, numel};

type Number<'a> = Num<'a, Tensor>;

/// The least scale that is chosen, if nothing else is said.
pub(crate) const EPS: f64 = 1.1920928955078125e-7;

/// How many elements a thread takes at a time where all have the same scale.
const PIECE: usize = 1 << 12;

/// The integers from a least to a greatest one, as floats.
#[derive(Clone, Copy)]
struct Range {
    min: f32,
    max: f32,
}

/// How floats become integers.
#[derive(Clone, Copy)]
struct Affine {
    scale: f32,
    inverse: f32,
    zero_point: f32,
}

impl Range {
    /// The integers from `min` to `max`.
    fn new(min: i64, max: i64) -> Self {
        Self { min: min as f32, max: max as f32 }
    }
}

impl Affine {
    /// The inverse is that of the scale before it is rounded to f32, as in PyTorch.
    fn new(scale: f64, zero_point: f64) -> Self {
        Self { scale: scale as f32, inverse: (1.0 / scale) as f32, zero_point: zero_point as f32 }
    }

    fn of(scale: &Number<'_>, zero_point: &Number<'_>) -> Result<Self> {
        let scale = number(scale)?.to_f64();
        if scale == 0.0 {
            return Err(Error::argument("`scale` must not be 0").help("`choose_qparams` gives at least `eps`"));
        }
        Ok(Self::new(scale, number(zero_point)?.to_f64()))
    }

    /// One for each channel.
    fn channels(scales: &Tensor, zero_points: Option<&Tensor>) -> Vec<Self> {
        let scales = scales.to_vec_as::<f64>();
        let zero_points = zero_points.map_or_else(|| vec![0.0; scales.len()], Tensor::to_vec_as::<f64>);
        scales.into_iter().zip(zero_points).map(|(scale, zero_point)| Self::new(scale, zero_point)).collect()
    }

    fn steps(self, Range { min, max }: Range) -> Steps {
        Steps { inverse: self.inverse, zero_point: self.zero_point, min, max }
    }

    fn dequantize(self, row: &mut [f32]) {
        row.iter_mut().for_each(|q| *q = (*q - self.zero_point) * self.scale);
    }
}

/// A number, or the element of a tensor that has one.
fn number(x: &Number<'_>) -> Result<Scalar> {
    match x {
        Num::Tensor(x) => x.try_item(),
        Num::Scalar(x) => Ok(*x),
        Num::Size(x) => Ok(Scalar::Int(*x)),
    }
}

/// The elements in f32 after `f` changed each row of so many.
fn rows(x: &Tensor, len: usize, f: impl Fn(usize, &mut [f32]) + Sync) -> Tensor {
    x.to_dtype(DType::F32).changed(|x| {
        let work = 4 * x.len();
        for_each_piece(x, len, work, f);
    })
}

/// Makes numbers whole; NaN stays.
fn round(row: &mut [f32], steps: Steps) {
    row.iter_mut().for_each(|x| *x = steps.whole(*x));
}

/// The elements as whole numbers of a type, with steps for each row of so many.
fn integers(x: &Tensor, len: usize, dtype: DType, steps: impl Fn(usize) -> Steps + Sync) -> Tensor {
    match dtype {
        DType::I8 => integers_of(x, len, steps, |x| x as i8),
        DType::U8 => integers_of(x, len, steps, |x| x as u8),
        DType::I32 => integers_of(x, len, steps, |x| x),
        _ => rows(x, len, |row, x| round(x, steps(row))).to_dtype(dtype),
    }
}

/// As [`integers`], of the type that a function makes of them.
fn integers_of<T: Element>(
    x: &Tensor,
    len: usize,
    steps: impl Fn(usize) -> Steps + Sync,
    of: impl Fn(i32) -> T + Copy + Sync,
) -> Tensor {
    let x = x.to_dtype(DType::F32).contiguous();
    let numbers = x.as_slice::<f32>().unwrap_or_default();
    Tensor::written::<T>(x.shape(), |out| {
        for_each_piece(out, len, 4 * numbers.len(), |row, out| quantize(out, &numbers[row * len..], steps(row), of));
    })
}

/// The length of the rows that have one index of a dimension each.
fn row_of(x: &Tensor, axis: i64) -> Result<usize> {
    let axis = shape::dim(axis, x.ndim())?;
    Ok(numel(&x.shape()[axis + 1..]))
}

pub(super) fn quantize_per_tensor(
    x: &Tensor,
    scale: Number<'_>,
    zero_point: Number<'_>,
    min: i64,
    max: i64,
    dtype: DType,
) -> Result<Tensor> {
    let (affine, range) = (Affine::of(&scale, &zero_point)?, Range::new(min, max));
    Ok(integers(x, PIECE, dtype, |_| affine.steps(range)))
}

pub(super) fn dequantize_per_tensor(x: &Tensor, scale: Number<'_>, zero_point: Number<'_>) -> Result<Tensor> {
    let affine = Affine::of(&scale, &zero_point)?;
    Ok(rows(x, PIECE, |_, row| affine.dequantize(row)))
}

pub(super) fn quantize_per_channel(
    x: &Tensor,
    scales: &Tensor,
    zero_points: Option<&Tensor>,
    axis: i64,
    min: i64,
    max: i64,
    dtype: DType,
) -> Result<Tensor> {
    let range = Range::new(min, max);
    let affine = Affine::channels(scales, zero_points);
    Ok(integers(x, row_of(x, axis)?, dtype, |row| affine[row % affine.len()].steps(range)))
}

pub(super) fn dequantize_per_channel(
    x: &Tensor,
    scales: &Tensor,
    zero_points: Option<&Tensor>,
    axis: i64,
) -> Result<Tensor> {
    let affine = Affine::channels(scales, zero_points);
    Ok(rows(x, row_of(x, axis)?, |row, x| affine[row % affine.len()].dequantize(x)))
}

pub(super) fn fake_quantize(
    x: &Tensor,
    scale: Number<'_>,
    zero_point: Number<'_>,
    min: i64,
    max: i64,
) -> Result<Tensor> {
    let (affine, range) = (Affine::of(&scale, &zero_point)?, Range::new(min, max));
    // Here the scale is rounded before it is inverted, as in PyTorch.
    let affine = Affine { inverse: 1.0 / affine.scale, ..affine };
    Ok(rows(x, PIECE, |_, row| {
        // NaN is no integer: the smallest one stands for it, as in PyTorch.
        row.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = f32::NEG_INFINITY);
        round(row, affine.steps(range));
        affine.dequantize(row);
    }))
}

pub(super) fn choose_qparams(x: &Tensor, min: i64, max: i64, eps: f64) -> Result<(Tensor, Tensor)> {
    let x = x.to_dtype(DType::F32).contiguous();
    let (scale, zero_point) = chosen(x.as_slice().unwrap_or_default(), [min, max], eps);
    Ok((Tensor::from_vec([1], vec![scale]), Tensor::from_vec([1], vec![zero_point])))
}

/// The scale and the zero point that spread the integers between two over numbers and 0.
pub(crate) fn chosen(x: &[f32], [min, max]: [i64; 2], eps: f64) -> (f32, i64) {
    let (least, most) = extremes(x);
    affine_qparams(least, most, Range::new(min, max), eps as f32)
}

/// The operands of a product of quantized values, as the floats that they stand for; see `qconv2d_pointwise`. The weight has a
/// scale for each index of a dimension.
pub(crate) fn operands(
    x: &Tensor,
    (scale, zero_point): (Option<f64>, i64),
    [min, max]: [i64; 2],
    (weight, weight_scale, axis): (&Tensor, &Tensor, i64),
) -> Result<(Tensor, Tensor)> {
    let (scale, zero_point) = match scale {
        Some(scale) => (scale, zero_point),
        None => {
            let x = x.to_dtype(DType::F32).contiguous();
            let (scale, zero_point) = chosen(x.as_slice().unwrap_or_default(), [min, max], EPS);
            (f64::from(scale), zero_point)
        }
    };
    let x = rounded(x, (scale, zero_point), [min, max]);
    Ok((x, dequantize_per_channel(weight, weight_scale, None, axis)?))
}

/// Numbers quantized to integers between two and dequantized.
pub(crate) fn rounded(x: &Tensor, (scale, zero_point): (f64, i64), [min, max]: [i64; 2]) -> Tensor {
    let (affine, range) = (Affine::new(scale, zero_point as f64), Range::new(min, max));
    rows(x, PIECE, |_, row| {
        round(row, affine.steps(range));
        // As it is when it becomes an integer.
        row.iter_mut().filter(|q| q.is_nan()).for_each(|q| *q = 0.0_f32.clamp(range.min, range.max));
        affine.dequantize(row);
    })
}

/// The smallest and the largest element, 0 if there is none; NaN if one is.
fn extremes(elements: &[f32]) -> (f32, f32) {
    let of = |reduction: Reduction| {
        let mut extreme = [0.0];
        reduce(reduction, &mut extreme, elements, elements.len(), 1);
        extreme[0]
    };
    if elements.is_empty() { (0.0, 0.0) } else { (of(Reduction::Min), of(Reduction::Max)) }
}

/// The scale and the zero point that spread a range of integers over floats from `least` to `most` and 0: PyTorch's
/// `determine_qparams`.
fn affine_qparams(least: f32, most: f32, range: Range, eps: f32) -> (f32, i64) {
    let (least, most) = if least > 0.0 {
        (0.0, most)
    } else if most < 0.0 {
        (least, 0.0)
    } else {
        (least, most)
    };
    let scale = (most - least) / (range.max - range.min);
    let scale = if scale < eps { eps } else { scale };
    let zero_point = range.min - (least / scale).round_ties_even();
    (scale, zero_point.clamp(range.min, range.max) as i64)
}
