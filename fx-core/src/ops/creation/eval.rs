//! Constants and ranges.

use smallvec::SmallVec;

use super::infer;
use crate::error::{Error, Result};
use crate::ops::kind::Number;
use crate::ops::wide::in_floats;
use crate::tensor::num::Real;
use crate::tensor::{DType, Dims, Scalar, Tensor, dispatch_words, numel};
use crate::value::Dim;

pub(super) type Sizes = SmallVec<[i64; 6]>;

pub(super) fn dims(size: &[i64]) -> Dims {
    size.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect()
}

/// Checks that memory for so many elements can be had: a failed allocation would end the process.
pub(super) fn require_room(numel: usize, dtype: DType) -> Result<()> {
    let bytes = numel.checked_mul(dtype.size()).filter(|bytes| Vec::<u8>::new().try_reserve_exact(*bytes).is_ok());
    let message = || Error::shape(format!("there is no memory for {numel} elements of {dtype}"));
    bytes.map(drop).ok_or_else(message)
}

fn filled(shape: &[usize], number: Scalar, dtype: DType) -> Result<Tensor> {
    require_room(numel(shape), dtype)?;
    Ok(Tensor::filled(shape, number, dtype))
}

pub(super) fn zeros(size: Sizes, dtype: DType) -> Result<Tensor> {
    filled(&dims(&size), Scalar::Int(0), dtype)
}

pub(super) fn ones(size: Sizes, dtype: DType) -> Result<Tensor> {
    filled(&dims(&size), Scalar::Int(1), dtype)
}

pub(super) fn full(size: Sizes, fill_value: Scalar, dtype: Option<DType>) -> Result<Tensor> {
    filled(&dims(&size), fill_value, dtype.unwrap_or(fill_value.dtype()))
}

pub(super) fn zeros_like(x: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    full_like(x, Scalar::Int(0), dtype)
}

pub(super) fn ones_like(x: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    full_like(x, Scalar::Int(1), dtype)
}

pub(super) fn full_like(x: &Tensor, fill_value: Scalar, dtype: Option<DType>) -> Result<Tensor> {
    filled(x.shape(), fill_value, dtype.unwrap_or(x.dtype()))
}

/// A number as PyTorch passes it to a kernel.
fn scalar(x: &Number<Tensor>) -> Scalar {
    match x {
        Number::Size(x) => Scalar::Int(*x),
        Number::Float(x) => Scalar::Float(*x),
    }
}

pub(super) fn arange(
    end: Number<Tensor>,
    start: Number<Tensor>,
    step: Number<Tensor>,
    dtype: Option<DType>,
) -> Result<Tensor> {
    let (start, end, step) = (scalar(&start), scalar(&end), scalar(&step));
    let (count, default) = match (start, end, step) {
        (Scalar::Int(start), Scalar::Int(end), Scalar::Int(step)) => {
            let count = infer::int_count(&Dim::Int(start), &Dim::Int(end), &Dim::Int(step))?;
            (count.as_int().unwrap_or(0), DType::I64)
        }
        _ => (infer::float_count(start.to_f64(), end.to_f64(), step.to_f64())?, DType::F32),
    };
    let dtype = dtype.unwrap_or(default);
    // As long as an f64.
    require_room(count as usize, DType::I64)?;
    let elements = if dtype.is_float() {
        let (start, step) = (start.to_f64(), step.to_f64());
        Tensor::from((0..count).map(|i| start + i as f64 * step).collect::<Vec<_>>())
    } else {
        // Integers are counted as integers: a step of 0.5 stays in place, as in PyTorch.
        let (start, step) = (start.to_i64(), step.to_i64());
        Tensor::from((0..count).map(|i| start.wrapping_add(i.wrapping_mul(step))).collect::<Vec<_>>())
    };
    Ok(elements.to_dtype(dtype))
}

/// Where numbers of a type begin and end: integers at integers.
fn ends(start: f64, end: f64, dtype: DType) -> (f64, f64) {
    if dtype.is_float() { (start, end) } else { (start.trunc(), end.trunc()) }
}

/// Numbers at equal distances, counted from the nearer end so that both ends are exact.
fn spaced<R: Real>(start: R, end: R, steps: i64) -> impl Iterator<Item = R> {
    let step = if steps > 1 { (end - start) / R::of((steps - 1) as f64) } else { R::of(0.0) };
    (0..steps).map(move |i| {
        if i < steps / 2 || steps == 1 {
            start + step * R::of(i as f64)
        } else {
            end - step * R::of((steps - 1 - i) as f64)
        }
    })
}

pub(super) fn linspace(start: f64, end: f64, steps: i64, dtype: DType) -> Result<Tensor> {
    let (start, end) = ends(start, end, dtype);
    require_room(steps as usize, DType::F64)?;
    let inner = if dtype.is_float() { dtype } else { DType::F64 };
    let elements = in_floats!(inner, T => Tensor::from(spaced(T::of(start), T::of(end), steps).collect::<Vec<T>>()));
    Ok(elements.to_dtype(dtype))
}

pub(super) fn logspace(start: f64, end: f64, steps: i64, base: f64, dtype: DType) -> Result<Tensor> {
    let (start, end) = ends(start, end, dtype);
    require_room(steps as usize, DType::F64)?;
    let elements: Vec<f64> = spaced(start, end, steps).map(|x| base.powf(x)).collect();
    Ok(Tensor::from(elements).to_dtype(dtype))
}

pub(super) fn eye(n: i64, m: Option<i64>, dtype: DType) -> Result<Tensor> {
    let (rows, columns) = (n as usize, m.unwrap_or(n) as usize);
    require_room(rows * columns, dtype)?;
    Ok(dispatch_words!(dtype, W => Tensor::written_words::<W>(&[rows, columns], dtype, |out| {
        out.fill(Scalar::Int(0).word(dtype));
        let one: W = Scalar::Int(1).word(dtype);
        out.iter_mut().step_by(columns + 1).take(rows.min(columns)).for_each(|x| *x = one);
    })))
}
