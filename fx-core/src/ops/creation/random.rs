//! Random tensors, drawn from the generator of the process.

use super::eval::{Sizes, dims, require_room};
use crate::error::{Error, Result};
use crate::ops::rank::foremost_places;
use crate::ops::wide::in_floats;
use crate::tensor::random::{Generator, with_default};
use crate::tensor::{DType, Element, Tensor, numel};

/// The bits of a float's significand: so many random bits make it uniform in `[0, 1)` without rounding to 1.
fn precision(dtype: DType) -> u32 {
    match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        _ => 53,
    }
}

fn uniform(shape: &[usize], dtype: DType) -> Result<Tensor> {
    if !dtype.is_float() {
        return Err(Error::dtype(format!("is not defined for {dtype}")));
    }
    let bits = precision(dtype);
    let unit = 1.0 / (1_u64 << bits) as f64;
    in_floats!(dtype, T => drawn::<T>(shape, dtype, |generator| {
        T::from_f64((generator.bits() >> (64 - bits)) as f64 * unit)
    }))
}

/// Elements drawn one after the other.
fn drawn<T: Element>(shape: &[usize], dtype: DType, mut draw: impl FnMut(&mut Generator) -> T) -> Result<Tensor> {
    let numel = numel(shape);
    require_room(numel, T::DTYPE)?;
    let elements: Vec<T> = with_default(|generator| (0..numel).map(|_| draw(generator)).collect());
    Ok(Tensor::from_vec(shape, elements).to_dtype(dtype))
}

fn normal(shape: &[usize], dtype: DType) -> Result<Tensor> {
    let numel = numel(shape);
    if dtype == DType::F64 {
        return drawn::<f64>(shape, dtype, Generator::normal);
    }
    require_room(numel + 1, DType::F32)?;
    let mut elements: Vec<f32> = vec![0.0; numel];
    with_default(|generator| generator.fill_normal(&mut elements));
    Ok(Tensor::from_vec(shape, elements).to_dtype(dtype))
}

pub(super) fn rand(size: Sizes, dtype: DType) -> Result<Tensor> {
    uniform(&dims(&size), dtype)
}

pub(super) fn randn(size: Sizes, dtype: DType) -> Result<Tensor> {
    normal(&dims(&size), dtype)
}

pub(super) fn rand_like(x: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    uniform(x.shape(), dtype.unwrap_or(x.dtype()))
}

pub(super) fn randn_like(x: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    normal(x.shape(), dtype.unwrap_or(x.dtype()))
}

pub(super) fn randint(low: i64, high: i64, size: Sizes, dtype: DType) -> Result<Tensor> {
    drawn::<i64>(&dims(&size), dtype, |generator| generator.integer(low, high))
}

pub(super) fn randperm(n: i64, dtype: DType) -> Result<Tensor> {
    require_room(n as usize, DType::I64)?;
    let mut elements: Vec<i64> = (0..n).collect();
    with_default(|generator| {
        for last in (1..elements.len()).rev() {
            elements.swap(last, generator.integer(0, last as i64 + 1) as usize);
        }
    });
    Ok(Tensor::from(elements).to_dtype(dtype))
}

pub(super) fn bernoulli(x: &Tensor) -> Result<Tensor> {
    let probabilities = x.to_vec_as::<f64>();
    if let Some(wrong) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(Error::argument(format!("a probability lies between 0 and 1, found {wrong}")));
    }
    let mut probabilities = probabilities.into_iter();
    drawn::<bool>(x.shape(), x.dtype(), |generator| probabilities.next().is_some_and(|p| generator.uniform() < p))
}

pub(super) fn multinomial(x: &Tensor, num_samples: i64, replacement: bool) -> Result<Tensor> {
    let categories = x.shape()[x.ndim() - 1];
    let count = num_samples as usize;
    let weights = x.to_vec_as::<f64>();
    if let Some(wrong) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
        return Err(Error::argument(format!("weights must be finite and not below 0, found {wrong}")));
    }
    let mut shape = x.shape().to_vec();
    shape[x.ndim() - 1] = count;
    require_room(numel(&shape), DType::I64)?;
    let mut places = Vec::with_capacity(numel(&shape));
    for row in weights.chunks_exact(categories) {
        if row.iter().sum::<f64>() <= 0.0 {
            return Err(Error::argument("a row of weights must have a sum above 0"));
        }
        with_default(|generator| {
            if replacement {
                draw(row, count, generator, &mut places)
            } else {
                race(row, count, generator, &mut places)
            }
        });
    }
    Ok(Tensor::from_vec(shape, places))
}

/// Draws with replacement: places in the running sum of the weights.
fn draw(row: &[f64], count: usize, generator: &mut Generator, places: &mut Vec<i64>) {
    let sums: Vec<f64> = row
        .iter()
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let total = sums.last().copied().unwrap_or(0.0);
    for _ in 0..count {
        let target = generator.uniform() * total;
        places.push(sums.partition_point(|sum| *sum <= target).min(row.len() - 1) as i64);
    }
}

/// Draws without replacement: each place finishes after an exponential time, the heavier the sooner.
fn race(row: &[f64], count: usize, generator: &mut Generator, places: &mut Vec<i64>) {
    let times: Vec<f64> =
        row.iter().map(|weight| -(1.0 - generator.uniform()).ln().min(-f64::MIN_POSITIVE) / weight).collect();
    places.extend(foremost_places(&times, count, false).into_iter().map(|place| place as i64));
}
