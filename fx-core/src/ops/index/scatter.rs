//! Putting elements at indices.

use std::borrow::Cow;

use super::eval::{around, outside, place, places, targets};
use crate::error::Result;
use crate::ops::kind::Num;
use crate::ops::shape;
use crate::tensor::{Element, Scalar, Tensor, dispatch, view};

fn add<T: Element>(a: T, b: T) -> T {
    if T::DTYPE.is_float() {
        T::from_f64(a.to_f64() + b.to_f64())
    } else {
        T::from_i64(a.to_i64().wrapping_add(b.to_i64()))
    }
}

fn mul<T: Element>(a: T, b: T) -> T {
    if T::DTYPE.is_float() {
        T::from_f64(a.to_f64() * b.to_f64())
    } else {
        T::from_i64(a.to_i64().wrapping_mul(b.to_i64()))
    }
}

fn is_nan<T: Element>(x: T) -> bool {
    x.partial_cmp(&x).is_none()
}

/// The larger of two; NaN is above everything.
fn larger<T: Element>(a: T, b: T) -> T {
    if is_nan(a) || a >= b { a } else { b }
}

/// The smaller of two, or NaN.
fn smaller<T: Element>(a: T, b: T) -> T {
    if is_nan(a) || a <= b { a } else { b }
}

/// The elements of `src` that stand where those of the index do, in row-major order.
fn sources(src: &Tensor, index: &Tensor) -> Tensor {
    (0..src.ndim()).fold(src.clone(), |src, i| view::narrow(&src, i, 0, index.shape()[i])).contiguous()
}

/// Combines each element of `src` into the element of `x` that its index names.
fn combine(x: &Tensor, index: &Tensor, src: &Tensor, dim: i64, combiner: &str) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    if index.numel() == 0 {
        return Ok(x.clone());
    }
    let targets = targets(index, x.shape(), dim)?;
    Ok(dispatch!(x.dtype(), T => {
        let f: fn(T, T) -> T = match combiner {
            "put" => |_, new| new,
            "prod" => mul,
            "amax" => larger,
            "amin" => smaller,
            _ => add,
        };
        let src = sources(src, index);
        x.clone().changed::<T>(|out| {
            for (target, new) in targets.into_iter().zip(src.as_slice::<T>().unwrap_or_default()) {
                out[target] = f(out[target], *new);
            }
        })
    }))
}

pub(super) fn scatter(x: &Tensor, index: &Tensor, src: Num<'_, Tensor>, dim: i64) -> Result<Tensor> {
    let number = match src {
        Num::Tensor(src) => return combine(x, index, src, dim, "put"),
        Num::Scalar(number) => number,
        Num::Size(size) => Scalar::Int(size),
    };
    let src = view::expand(&Tensor::filled([], number, x.dtype()), index.shape());
    combine(x, index, &src, dim, "put")
}

pub(super) fn scatter_add(x: &Tensor, index: &Tensor, src: &Tensor, dim: i64) -> Result<Tensor> {
    combine(x, index, src, dim, "sum")
}

pub(super) fn scatter_reduce(
    x: &Tensor,
    index: &Tensor,
    src: &Tensor,
    dim: i64,
    reduce: Cow<'static, str>,
    include_self: bool,
) -> Result<Tensor> {
    if index.numel() == 0 {
        return Ok(x.clone());
    }
    let targets = targets(index, x.shape(), shape::dim(dim, x.ndim())?)?;
    let mut counts = vec![i64::from(include_self); x.numel()];
    // Without the elements that are there, the first one that comes takes their place.
    let (mut start, src) = (x.clone(), sources(src, index));
    if !include_self {
        start = dispatch!(x.dtype(), T => start.changed::<T>(|out| {
            for (&target, new) in targets.iter().zip(src.as_slice::<T>().unwrap_or_default()).rev() {
                out[target] = *new;
            }
        }));
    }
    Ok(dispatch!(x.dtype(), T => {
        let f: fn(T, T) -> T = match &*reduce {
            "prod" => mul,
            "amax" => larger,
            "amin" => smaller,
            _ => add,
        };
        start.changed::<T>(|out| {
            for (&target, new) in targets.iter().zip(src.as_slice::<T>().unwrap_or_default()) {
                if counts[target] > 0 {
                    out[target] = f(out[target], *new);
                }
                counts[target] += 1;
            }
            if reduce == "mean" {
                let several = out.iter_mut().zip(&counts).filter(|(_, count)| **count > 1);
                several.for_each(|(x, &count)| *x = divide(*x, count));
            }
        })
    }))
}

/// A mean's division; integers round down.
fn divide<T: Element>(sum: T, count: i64) -> T {
    if T::DTYPE.is_float() {
        T::from_f64(sum.to_f64() / count as f64)
    } else {
        T::from_i64(sum.to_i64().div_euclid(count))
    }
}

/// Changes the slices of `x` at these places: `f` gets the part before the dimension, the place's number and the slice.
fn slices<T: Element>(x: &Tensor, dim: usize, places: &[usize], mut f: impl FnMut(usize, usize, &mut [T])) -> Tensor {
    let (outer, size, inner) = around(x.shape(), dim);
    x.clone().changed::<T>(|out| {
        for part in 0..outer {
            for (number, place) in places.iter().enumerate() {
                let start = (part * size + place) * inner;
                f(part, number, &mut out[start..start + inner]);
            }
        }
    })
}

/// Changes slices of `x` by those of `source`.
fn by_slices(x: &Tensor, index: &Tensor, source: &Tensor, dim: i64, alpha: Option<Scalar>) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let (_, size, inner) = around(x.shape(), dim);
    let places = places(index, size)?;
    Ok(dispatch!(x.dtype(), T => {
        let source = source.to_vec::<T>();
        let alpha = alpha.map(T::from_scalar);
        let one = T::from_i64(1);
        slices::<T>(x, dim, &places, |part, number, slice| {
            let start = (part * places.len() + number) * inner;
            let source = &source[start..start + inner];
            match alpha {
                None => slice.copy_from_slice(source),
                Some(alpha) if alpha == one => {
                    slice.iter_mut().zip(source).for_each(|(x, source)| *x = add(*x, *source));
                }
                Some(alpha) => slice.iter_mut().zip(source).for_each(|(x, source)| *x = add(*x, mul(alpha, *source))),
            }
        })
    }))
}

pub(super) fn index_add(x: &Tensor, index: &Tensor, source: &Tensor, dim: i64, alpha: Scalar) -> Result<Tensor> {
    by_slices(x, index, source, dim, Some(alpha))
}

pub(super) fn index_copy(x: &Tensor, index: &Tensor, source: &Tensor, dim: i64) -> Result<Tensor> {
    by_slices(x, index, source, dim, None)
}

pub(super) fn index_fill(x: &Tensor, index: &Tensor, value: Num<'_, Tensor>, dim: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let (_, size, _) = around(x.shape(), dim);
    let places: Vec<usize> = index
        .to_vec_as::<i64>()
        .into_iter()
        .map(|index| {
            let wrapped = if index < 0 { index.wrapping_add(size as i64) } else { index };
            place(wrapped, size).map_err(|_| outside(index, size))
        })
        .collect::<Result<_>>()?;
    let value = match value {
        Num::Tensor(value) => value.try_item()?,
        Num::Scalar(value) => value,
        Num::Size(value) => Scalar::Int(value),
    };
    Ok(dispatch!(x.dtype(), T => {
        let value = T::from_scalar(value);
        slices::<T>(x, dim, &places, |_, _, slice| slice.fill(value))
    }))
}
