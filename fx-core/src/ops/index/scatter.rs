//! Putting elements at indices.

use std::borrow::Cow;

use super::eval::{around, outside, place, places, targets};
use crate::error::Result;
use crate::ops::kind::Num;
use crate::ops::shape;
use crate::tensor::{Element, Scalar, Tensor, dispatch, dispatch_words, view};

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

/// Puts each element of `src` at its target; of several with the same one the last stays.
fn put<'a>(x: Tensor, src: &Tensor, targets: impl Iterator<Item = (usize, &'a usize)>) -> Tensor {
    dispatch_words!(x.dtype(), W => x.changed_words::<W>(|out| {
        let words = src.words::<W>().unwrap_or_default();
        targets.for_each(|(place, &target)| out[target] = words[place]);
    }))
}

pub(super) fn scatter(x: &Tensor, index: &Tensor, src: Num<'_, Tensor>, dim: i64) -> Result<Tensor> {
    let src = match src {
        Num::Tensor(src) => src.clone(),
        Num::Scalar(number) => view::expand(&Tensor::filled([], number, x.dtype()), index.shape()),
        Num::Size(size) => view::expand(&Tensor::filled([], size, x.dtype()), index.shape()),
    };
    if index.numel() == 0 {
        return Ok(x.clone());
    }
    let targets = targets(index, x.shape(), shape::dim(dim, x.ndim())?)?;
    Ok(put(x.clone(), &sources(&src, index), targets.iter().enumerate()))
}

pub(super) fn scatter_add(x: &Tensor, index: &Tensor, src: &Tensor, dim: i64) -> Result<Tensor> {
    if index.numel() == 0 {
        return Ok(x.clone());
    }
    let targets = targets(index, x.shape(), shape::dim(dim, x.ndim())?)?;
    let src = sources(src, index);
    Ok(dispatch!(x.dtype(), T => x.clone().changed::<T>(|out| {
        for (target, new) in targets.into_iter().zip(src.as_slice::<T>().unwrap_or_default()) {
            out[target] = add(out[target], *new);
        }
    })))
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
        start = put(start, &src, targets.iter().enumerate().rev());
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

/// The slices of `x` at places along a dimension.
struct Slices<'a> {
    places: &'a [usize],
    outer: usize,
    size: usize,
    inner: usize,
}

impl<'a> Slices<'a> {
    fn new(x: &Tensor, dim: usize, places: &'a [usize]) -> Self {
        let (outer, size, inner) = around(x.shape(), dim);
        Self { places, outer, size, inner }
    }

    /// Calls `f` with each slice, those of the parts before the dimension one after the other, and with its number.
    fn for_each<T>(&self, elements: &mut [T], f: &mut dyn FnMut(usize, &mut [T])) {
        for part in 0..self.outer {
            for (number, place) in self.places.iter().enumerate() {
                let start = (part * self.size + place) * self.inner;
                f(part * self.places.len() + number, &mut elements[start..start + self.inner]);
            }
        }
    }

    /// Calls `f` with each slice and that of `source` which belongs to it.
    fn with<T>(&self, elements: &mut [T], source: &[T], f: &dyn Fn(&mut [T], &[T])) {
        self.for_each(elements, &mut |number, slice| f(slice, &source[number * self.inner..][..self.inner]));
    }
}

pub(super) fn index_add(x: &Tensor, index: &Tensor, source: &Tensor, dim: i64, alpha: Scalar) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let places = places(index, around(x.shape(), dim).1)?;
    let slices = Slices::new(x, dim, &places);
    let source = source.contiguous();
    Ok(dispatch!(x.dtype(), T => {
        let (alpha, one) = (T::from_scalar(alpha), T::from_i64(1));
        let source = source.as_slice::<T>().unwrap_or_default();
        x.clone().changed::<T>(|out| slices.with(out, source, &|slice, source| {
            let pairs = slice.iter_mut().zip(source);
            if alpha == one {
                pairs.for_each(|(x, source)| *x = add(*x, *source));
            } else {
                pairs.for_each(|(x, source)| *x = add(*x, mul(alpha, *source)));
            }
        }))
    }))
}

pub(super) fn index_copy(x: &Tensor, index: &Tensor, source: &Tensor, dim: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let places = places(index, around(x.shape(), dim).1)?;
    let slices = Slices::new(x, dim, &places);
    let source = source.contiguous();
    Ok(dispatch_words!(x.dtype(), W => {
        let source = source.words::<W>().unwrap_or_default();
        x.clone().changed_words::<W>(|out| slices.with(out, source, &|slice, source| slice.copy_from_slice(source)))
    }))
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
    let slices = Slices::new(x, dim, &places);
    Ok(dispatch_words!(x.dtype(), W => {
        let value: W = value.word(x.dtype());
        x.clone().changed_words::<W>(|out| slices.for_each(out, &mut |_, slice| slice.fill(value)))
    }))
}
