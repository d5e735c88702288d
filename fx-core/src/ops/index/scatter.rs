//! Putting elements at indices.

use std::borrow::Cow;

use super::eval::{Targets, around, outside, place, places};
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

pub(super) fn scatter(x: &Tensor, index: &Tensor, src: Num<'_, Tensor>, dim: i64) -> Result<Tensor> {
    let src = match src {
        Num::Tensor(src) => src.clone(),
        Num::Scalar(number) => view::expand(&Tensor::filled([], number, x.dtype()), index.shape()),
        Num::Size(size) => view::expand(&Tensor::filled([], size, x.dtype()), index.shape()),
    };
    if index.numel() == 0 {
        return Ok(x.clone());
    }
    let targets = Targets::new(index, x.shape(), shape::dim(dim, x.ndim())?)?;
    let src = sources(&src, index);
    Ok(dispatch_words!(x.dtype(), W => x.clone().changed_words::<W>(|out| {
        let src = src.words::<W>().unwrap_or_default();
        targets.for_each(out, src, |_, out, new| out.iter_mut().zip(new).for_each(|(out, new)| *out = *new));
    })))
}

pub(super) fn scatter_add(x: &Tensor, index: &Tensor, src: &Tensor, dim: i64) -> Result<Tensor> {
    if index.numel() == 0 {
        return Ok(x.clone());
    }
    let targets = Targets::new(index, x.shape(), shape::dim(dim, x.ndim())?)?;
    let src = sources(src, index);
    Ok(dispatch!(x.dtype(), T => x.clone().changed::<T>(|out| {
        let src = src.as_slice::<T>().unwrap_or_default();
        targets.for_each(out, src, |_, out, new| out.iter_mut().zip(new).for_each(|(out, new)| *out = add(*out, *new)));
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
    let targets = Targets::new(index, x.shape(), shape::dim(dim, x.ndim())?)?;
    let src = sources(src, index);
    let mut counts = vec![i64::from(include_self); x.numel() / targets.run];
    Ok(dispatch!(x.dtype(), T => {
        let combine: fn(&mut T, T) = match &*reduce {
            "prod" => |x, new| *x = mul(*x, new),
            "amax" => |x, new| *x = larger(*x, new),
            "amin" => |x, new| *x = smaller(*x, new),
            _ => |x, new| *x = add(*x, new),
        };
        // Without the elements that are there, the first one that comes takes their place.
        let put: fn(&mut T, T) = |x, new| *x = new;
        x.clone().changed::<T>(|out| {
            targets.for_each(out, src.as_slice::<T>().unwrap_or_default(), |place, out, new| {
                let f = if counts[place] > 0 { combine } else { put };
                out.iter_mut().zip(new).for_each(|(x, new)| f(x, *new));
                counts[place] += 1;
            });
            if reduce == "mean" {
                let runs = out.chunks_exact_mut(targets.run).zip(&counts).filter(|(_, count)| **count > 1);
                runs.for_each(|(run, &count)| run.iter_mut().for_each(|x| *x = divide(*x, count)));
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
    index_copied(x.clone(), index, source, dim)
}

/// As `index_copy`, in place if nobody shares the elements.
pub(crate) fn index_copied(x: Tensor, index: &Tensor, source: &Tensor, dim: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let places = places(index, around(x.shape(), dim).1)?;
    let slices = Slices::new(&x, dim, &places);
    let source = source.contiguous();
    Ok(dispatch_words!(x.dtype(), W => {
        let source = source.words::<W>().unwrap_or_default();
        x.changed_words::<W>(|out| slices.with(out, source, &|slice, source| slice.copy_from_slice(source)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::creation::Creation;
    use crate::ops::index::eval::gather;
    use crate::tensor::numel;

    /// An index that is expanded names the same places as its copy, whose elements go one by one.
    #[test]
    fn runs_go_where_single_elements_do() {
        let (x, src) = (Tensor::randn([3, 5, 4]), Tensor::randn([3, 5, 4]));
        let index = |shape: &[usize]| Tensor::from_vec(shape, vec![2_i64, 0, 2, 1, 0][..numel(shape)].to_vec());
        for (dim, shape) in [(0, &[3, 1, 1][..]), (0, &[3, 5, 1]), (1, &[1, 5, 1]), (1, &[3, 5, 1]), (2, &[1, 1, 4])] {
            let index = if numel(shape) > 5 {
                Tensor::from_vec(shape, (0..15).map(|i| i % 3).collect::<Vec<i64>>())
            } else {
                index(shape)
            };
            let expanded = view::expand(&index, x.shape());
            let copied = Tensor::from_vec(x.shape(), expanded.to_vec::<i64>());
            let both =
                |f: &dyn Fn(&Tensor) -> Result<Tensor>| assert_eq!(f(&expanded).ok(), f(&copied).ok(), "{shape:?}");
            both(&|index| gather(&x, index, dim));
            both(&|index| scatter(&x, index, Num::Tensor(&src), dim));
            both(&|index| scatter(&x, index, Num::Scalar(Scalar::Float(1.5)), dim));
            both(&|index| scatter_add(&x, index, &src, dim));
            for reduce in ["sum", "prod", "mean", "amax", "amin"] {
                both(&|index| scatter_reduce(&x, index, &src, dim, reduce.into(), true));
                both(&|index| scatter_reduce(&x, index, &src, dim, reduce.into(), false));
            }
        }
    }

    /// Rows of more indices than are worked on at a time, along each dimension.
    #[test]
    fn long_rows_of_indices() {
        for (dim, shape) in [(0, [3, 2500]), (1, [2, 2500])] {
            let (rows, columns) = (shape[0], shape[1]);
            let x = Tensor::randn(shape);
            let at = |row: usize, column: usize| (7 * column + 3 * row) % shape[dim];
            let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
            let index = Tensor::from_vec(shape, all.clone().map(|(row, column)| at(row, column) as i64).collect());
            let target = |row: usize, column: usize| match dim {
                0 => at(row, column) * columns + column,
                _ => row * columns + at(row, column),
            };
            let elements = x.to_vec::<f32>();
            let want: Vec<f32> = all.clone().map(|(row, column)| elements[target(row, column)]).collect();
            assert_eq!(gather(&x, &index, dim as i64).unwrap().to_vec::<f32>(), want, "{shape:?}");
            let mut want = elements.clone();
            all.zip(&elements).for_each(|((row, column), src)| want[target(row, column)] += src);
            let got = scatter_add(&x, &index, &x, dim as i64).unwrap();
            assert!(got.all_close(&Tensor::from_vec(shape, want), 1e-6, 1e-6), "{shape:?}");
        }
    }

    /// A wrong index changes nothing, wherever it is.
    #[test]
    fn indices_are_seen_before_anything_is_written() {
        let x = Tensor::randn([1, 2500]);
        for wrong in [-1, 2500] {
            let index = Tensor::from_vec([1, 2500], (0..2500_i64).map(|i| if i == 2499 { wrong } else { i }).collect());
            for result in [gather(&x, &index, 1), scatter_add(&x, &index, &x, 1)] {
                let message = result.unwrap_err().to_string();
                assert!(message.contains(&format!("index {wrong} lies outside a dimension of size 2500")), "{message}");
            }
        }
    }

    #[test]
    fn tensors_without_dimensions_have_one_place() {
        let (x, index, src) = (Tensor::scalar(1.0_f32), Tensor::scalar(0_i64), Tensor::scalar(2.0_f32));
        assert_eq!(gather(&x, &index, 0).unwrap(), x);
        assert_eq!(scatter(&x, &index, Num::Tensor(&src), 0).unwrap(), src);
        assert_eq!(scatter_add(&x, &index, &src, -1).unwrap(), Tensor::scalar(3.0_f32));
        assert_eq!(scatter_reduce(&x, &index, &src, 0, "mean".into(), true).unwrap(), Tensor::scalar(1.5_f32));
    }
}
