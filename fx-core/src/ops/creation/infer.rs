//! Shapes and element types of made tensors.

use smallvec::SmallVec;

use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::kind::Number;
use crate::ops::shape;
use crate::tensor::{DType, Scalar};
use crate::value::{Dim, Meta, TensorMeta};

type Sizes = SmallVec<[Dim; 6]>;

/// A tensor of these sizes, none of them below 0, that fits the address space.
pub(super) fn sized(size: Sizes, dtype: DType) -> Result<TensorMeta> {
    if let Some(dim) = size.iter().find(|dim| dim.as_int().is_some_and(|dim| dim < 0)) {
        return Err(Error::shape(format!("{dim} is no size: sizes are 0 or above")));
    }
    let known = size.iter().filter_map(Dim::as_int).filter(|dim| *dim != 0);
    let bytes = known.map(i128::from).try_fold(dtype.size() as i128, i128::checked_mul);
    if bytes.is_none_or(|bytes| bytes > isize::MAX as i128) {
        return Err(Error::shape(format!("a tensor of shape {size:?} does not fit into memory")));
    }
    Ok(TensorMeta { shape: size.into_iter().collect(), dtype })
}

/// Checks that a number can be an element: PyTorch's rule, by which bytes take negative integers as their complement.
fn require_fit(number: Scalar, dtype: DType) -> Result<()> {
    let limits = match dtype {
        DType::U8 => (0.0, 255.0),
        DType::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        // The largest float below 2^63.
        DType::I64 => (i64::MIN as f64, 9_223_372_036_854_774_784.0),
        DType::F32 => (f64::from(f32::MIN), f64::from(f32::MAX)),
        _ => return Ok(()),
    };
    let fits = match number {
        Scalar::Int(_) if dtype == DType::I64 => true,
        Scalar::Int(x) if dtype == DType::U8 => (-255..=255).contains(&x),
        Scalar::Float(x) if dtype.is_float() => !x.is_finite() || (limits.0..=limits.1).contains(&x),
        other => (limits.0..=limits.1).contains(&other.to_f64()),
    };
    if fits { Ok(()) } else { Err(Error::dtype(format!("the number {} does not fit into {dtype}", number.to_f64()))) }
}

pub(super) fn full(size: Sizes, fill_value: Scalar, dtype: Option<DType>) -> Result<TensorMeta> {
    let dtype = dtype.unwrap_or(fill_value.dtype());
    require_fit(fill_value, dtype)?;
    sized(size, dtype)
}

pub(super) fn like(x: &TensorMeta, dtype: Option<DType>) -> Result<TensorMeta> {
    Ok(x.with_dtype(dtype.unwrap_or(x.dtype)))
}

pub(super) fn full_like(x: &TensorMeta, fill_value: Scalar, dtype: Option<DType>) -> Result<TensorMeta> {
    let y = like(x, dtype)?;
    require_fit(fill_value, y.dtype)?;
    Ok(y)
}

/// The number of elements of a range of numbers, of which not all are integers.
pub(super) fn float_count(start: f64, end: f64, step: f64) -> Result<i64> {
    if step == 0.0 {
        return Err(Error::argument("`step` must not be 0"));
    }
    let count = ((end - start) / step).ceil();
    if !count.is_finite() {
        return Err(Error::argument(format!("no range goes from {start} to {end} in steps of {step}")));
    }
    if (step > 0.0 && start > end) || (step < 0.0 && start < end) {
        return Err(away(start, end, step));
    }
    Ok(count as i64)
}

fn away(start: f64, end: f64, step: f64) -> Error {
    Error::argument(format!("a step of {step} leads from {start} away from {end}"))
}

/// The number of elements of a range of integers.
pub(super) fn int_count(start: &Dim, end: &Dim, step: &Dim) -> Result<Dim> {
    let Some(step) = step.as_int() else {
        return Ok((end - start + step - 1).floor_div(step));
    };
    if step == 0 {
        return Err(Error::argument("`step` must not be 0"));
    }
    let (span, stride) = if step > 0 { (end - start, step) } else { (start - end, step.saturating_neg()) };
    if let (Some(start), Some(end), Some(span)) = (start.as_int(), end.as_int(), span.as_int()) {
        if span < 0 {
            return Err(away(start as f64, end as f64, step as f64));
        }
    }
    Ok((span + (stride - 1)).floor_div(&Dim::Int(stride)))
}

fn number(x: &Number<Meta>) -> Option<f64> {
    match x {
        Number::Float(x) => Some(*x),
        Number::Size(x) => x.as_int().map(|x| x as f64),
    }
}

pub(super) fn arange(
    end: Number<Meta>,
    start: Number<Meta>,
    step: Number<Meta>,
    dtype: Option<DType>,
) -> Result<Arg<Meta>> {
    if dtype == Some(DType::Bool) {
        return Err(Error::dtype("is not defined for bool"));
    }
    let (count, default) = match (&start, &end, &step) {
        (Number::Size(start), Number::Size(end), Number::Size(step)) => (int_count(start, end, step)?, DType::I64),
        _ => match (number(&start), number(&end), number(&step)) {
            (Some(start), Some(end), Some(step)) => (Dim::Int(float_count(start, end, step)?), DType::F32),
            // A float beside a symbolic size: how they round is not known.
            _ => return Ok(Arg::Value(Meta::Unknown)),
        },
    };
    let meta = sized(SmallVec::from_iter([count]), dtype.unwrap_or(default))?;
    Ok(Arg::Value(Meta::Tensor(meta)))
}

pub(super) fn linspace(_: f64, _: f64, steps: i64, dtype: DType) -> Result<TensorMeta> {
    if steps < 0 {
        return Err(Error::argument(format!("`steps` must be 0 or above, found {steps}")));
    }
    if dtype == DType::Bool {
        return Err(Error::dtype("is not defined for bool"));
    }
    sized(SmallVec::from_iter([Dim::Int(steps)]), dtype)
}

pub(super) fn logspace(start: f64, end: f64, steps: i64, _: f64, dtype: DType) -> Result<TensorMeta> {
    linspace(start, end, steps, dtype)
}

pub(super) fn eye(n: Dim, m: Option<Dim>, dtype: DType) -> Result<TensorMeta> {
    let m = m.unwrap_or_else(|| n.clone());
    sized(SmallVec::from_iter([n, m]), dtype)
}

pub(super) fn random(size: Sizes, dtype: DType) -> Result<TensorMeta> {
    let meta = sized(size, dtype)?;
    shape::floats_only(&meta)
}

pub(super) fn random_like(x: &TensorMeta, dtype: Option<DType>) -> Result<TensorMeta> {
    shape::floats_only(&like(x, dtype)?)
}

/// The lowest and the highest integer up to which an element type holds all integers.
fn integers(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::Bool => (0, 1),
        DType::U8 => (0, 255),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::I64 => (i64::MIN, i64::MAX),
        DType::F16 => (-(1 << 11), 1 << 11),
        DType::BF16 => (-(1 << 8), 1 << 8),
        DType::F32 => (-(1 << 24), 1 << 24),
        DType::F64 => (-(1 << 53), 1 << 53),
    }
}

pub(super) fn randint(low: i64, high: i64, size: Sizes, dtype: DType) -> Result<TensorMeta> {
    if low >= high {
        return Err(Error::argument(format!("`low` ({low}) must be below `high` ({high})")));
    }
    let (lowest, highest) = integers(dtype);
    if low < lowest || high - 1 > highest {
        return Err(Error::dtype(format!("not all integers from {low} to {} fit into {dtype}", high - 1)));
    }
    sized(size, dtype)
}

pub(super) fn randperm(n: i64, dtype: DType) -> Result<TensorMeta> {
    if n < 0 {
        return Err(Error::argument(format!("`n` must be 0 or above, found {n}")));
    }
    if dtype == DType::Bool {
        return Err(Error::dtype("is not defined for bool"));
    }
    if n - 1 > integers(dtype).1 {
        return Err(Error::dtype(format!("not all integers below {n} fit into {dtype}")));
    }
    sized(SmallVec::from_iter([Dim::Int(n)]), dtype)
}

pub(super) fn bernoulli(x: &TensorMeta) -> Result<TensorMeta> {
    shape::floats_only(x)
}

pub(super) fn multinomial(x: &TensorMeta, num_samples: i64, replacement: bool) -> Result<TensorMeta> {
    shape::require_float(x)?;
    shape::require_ndim(x, "the weights", 1..=2, "1 or 2")?;
    if num_samples <= 0 {
        return Err(Error::argument(format!("`num_samples` must be above 0, found {num_samples}")));
    }
    let categories = &x.shape[x.ndim() - 1];
    if let Some(categories) = categories.as_int() {
        if categories == 0 {
            return Err(Error::shape(format!("there is nothing to choose from in {x}")));
        }
        if !replacement && num_samples > categories {
            return Err(Error::argument(format!("{num_samples} samples of {categories} need `replacement`")));
        }
    }
    let mut size: Sizes = x.shape.iter().cloned().collect();
    if let Some(last) = size.last_mut() {
        *last = Dim::Int(num_samples);
    }
    sized(size, DType::I64)
}
