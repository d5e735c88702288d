//! Reductions on tensors.
//!
//! A reduction works on rows: the reduced dimensions are moved last. Floats are summed in several parts at a time,
//! which is faster than one by one and errs less; half floats are summed in f32.

use fx_kernels::rows::{self, Reduction};
use smallvec::SmallVec;

use crate::arg::Arg;
use crate::error::Result;
use crate::ops::wide::{in_floats, in_ordered};
use crate::ops::{fast, shape};
use crate::tensor::num::Real;
use crate::tensor::{DType, Element, Scalar, Tensor, iter, view};

type Dims = Option<SmallVec<[i64; 4]>>;

/// The dimensions that are named; all if none is.
fn named(x: &Tensor, dim: Option<&[i64]>) -> Result<SmallVec<[usize; 6]>> {
    shape::dims(dim, x.ndim())
}

/// With the reduced dimensions back at size 1.
fn kept(y: Tensor, x: &Tensor, dims: &[usize], keepdim: bool) -> Tensor {
    if !keepdim {
        return y;
    }
    let shape: Vec<usize> = (0..x.ndim()).map(|i| if dims.contains(&i) { 1 } else { x.shape()[i] }).collect();
    view::reshape(&y, &shape)
}

/// The sum of a row, in 16 parts and blocks whose sums are added at the end.
fn total<R: Real>(row: &[R]) -> R {
    const BLOCK: usize = 4096;
    let block = |row: &[R]| {
        let mut parts = [R::of(0.0); 16];
        let chunks = row.chunks_exact(16);
        let rest: R = chunks.remainder().iter().copied().sum();
        for chunk in chunks {
            for (part, x) in parts.iter_mut().zip(chunk) {
                *part += *x;
            }
        }
        parts.into_iter().sum::<R>() + rest
    };
    row.chunks(BLOCK).map(block).sum()
}

/// The sum of a row, which wraps, in 8 parts.
fn total_of_integers(row: &[i64]) -> i64 {
    let mut parts = [0_i64; 8];
    let chunks = row.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (part, x) in parts.iter_mut().zip(chunk) {
            *part = part.wrapping_add(*x);
        }
    }
    parts.iter().chain(rest).fold(0, |sum, x| sum.wrapping_add(*x))
}

/// The sum of a function of a row's elements, in f64 and in several parts.
pub(crate) fn sum_of_each<T: Real>(row: &[T], f: impl Fn(f64) -> f64) -> f64 {
    let mut parts = [0.0; 8];
    let chunks = row.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|x| f(x.f64())).sum();
    for chunk in chunks {
        for (part, x) in parts.iter_mut().zip(chunk) {
            *part += f(x.f64());
        }
    }
    parts.into_iter().sum::<f64>() + rest
}

/// `f` of every row, computed in `T`, which has all elements as they are.
fn reduce<T: Element>(x: &Tensor, dims: &[usize], keepdim: bool, f: impl Fn(&[T]) -> T) -> Tensor {
    let y = iter::lanes(&x.to_dtype(T::DTYPE), dims).map::<T, T>(f);
    kept(y.to_dtype(x.dtype()), x, dims, keepdim)
}

fn summed(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::I64 }
}

fn sum_of(x: &Tensor, dims: &[usize], keepdim: bool, scale: Option<f64>) -> Tensor {
    let reduction = if scale.is_some() { Reduction::Mean } else { Reduction::Sum };
    if let Some(y) = fast::reduce(reduction, x, dims) {
        return kept(y, x, dims, keepdim);
    }
    let scale = scale.unwrap_or(1.0);
    if !x.dtype().is_float() {
        return reduce::<i64>(x, dims, keepdim, total_of_integers);
    }
    in_floats!(x.dtype(), T => reduce::<T>(x, dims, keepdim, |row| {
        let sum = total(row);
        if scale == 1.0 { sum } else { sum / T::of(scale) }
    }))
}

pub(super) fn sum(x: &Tensor, dim: Dims, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let x = x.to_dtype(dtype.unwrap_or(summed(x.dtype())));
    let dims = named(&x, dim.as_deref())?;
    let wide = if x.dtype().is_float() { x.clone() } else { x.to_dtype(DType::I64) };
    Ok(sum_of(&wide, &dims, keepdim, None).to_dtype(x.dtype()))
}

pub(super) fn mean(x: &Tensor, dim: Dims, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let x = x.to_dtype(dtype.unwrap_or(x.dtype()));
    let dims = named(&x, dim.as_deref())?;
    let count: usize = dims.iter().map(|&dim| x.shape()[dim]).product();
    Ok(sum_of(&x, &dims, keepdim, Some(count as f64)))
}

pub(super) fn prod(x: &Tensor, dim: Option<i64>, keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let x = x.to_dtype(dtype.unwrap_or(summed(x.dtype())));
    let dims = named(&x, dim.as_ref().map(std::slice::from_ref))?;
    if !x.dtype().is_float() {
        let product = |row: &[i64]| row.iter().fold(1, |product: i64, x| product.wrapping_mul(*x));
        return Ok(reduce::<i64>(&x, &dims, keepdim, product));
    }
    if let Some(y) = fast::reduce(Reduction::Product, &x, &dims) {
        return Ok(kept(y, &x, &dims, keepdim));
    }
    Ok(in_floats!(x.dtype(), T => reduce::<T>(&x, &dims, keepdim, |row| {
        let mut parts = [T::of(1.0); 16];
        let chunks = row.chunks_exact(16);
        let rest = chunks.remainder();
        for chunk in chunks {
            parts.iter_mut().zip(chunk).for_each(|(part, x)| *part *= *x);
        }
        parts.iter().chain(rest).fold(T::of(1.0), |product, part| product * *part)
    })))
}

/// The variance of a row, in f64: mean first, then squares of the distances to it.
fn variance<T: Real>(row: &[T], correction: f64) -> f64 {
    let count = row.len() as f64;
    let mean = sum_of_each(row, |x| x) / count;
    rows::squares(row, mean) / (count - correction).max(0.0)
}

fn spread(x: &Tensor, dim: Dims, correction: Scalar, keepdim: bool, f: impl Fn(f64) -> f64) -> Result<Tensor> {
    let dims = named(x, dim.as_deref())?;
    let correction = correction.to_f64();
    Ok(in_floats!(x.dtype(), T => reduce::<T>(x, &dims, keepdim, |row| T::of(f(variance(row, correction))))))
}

pub(super) fn var(x: &Tensor, dim: Dims, correction: Scalar, keepdim: bool) -> Result<Tensor> {
    spread(x, dim, correction, keepdim, |x| x)
}

pub(super) fn std(x: &Tensor, dim: Dims, correction: Scalar, keepdim: bool) -> Result<Tensor> {
    spread(x, dim, correction, keepdim, f64::sqrt)
}

/// The place of the first element that no other beats; NaN beats everything.
fn best<T: Element>(row: &[T], beats: impl Fn(T, T) -> bool) -> usize {
    /// How many elements are looked at without a branch: seldom does one of them beat all before.
    const BLOCK: usize = 64;
    let is_nan = |x: T| x.partial_cmp(&x).is_none();
    let mut best = 0;
    for (index, block) in row.chunks(BLOCK).enumerate() {
        let top = row[best];
        if is_nan(top) {
            break;
        }
        if block.iter().fold(false, |any, x| any | is_nan(*x) | beats(*x, top)) {
            best = block.iter().enumerate().fold(best, |best, (i, x)| {
                let is_better = !is_nan(row[best]) && (is_nan(*x) || beats(*x, row[best]));
                if is_better { index * BLOCK + i } else { best }
            });
        }
    }
    best
}

fn choose(x: &Tensor, dims: &[usize], keepdim: bool, largest: bool) -> (Tensor, Tensor) {
    let (values, places) = in_ordered!(x.dtype(), T => {
        let rows = iter::lanes(&x.to_dtype(T::DTYPE), dims);
        let place = |row: &[T]| best(row, |a: T, b: T| if largest { a > b } else { a < b });
        let places = rows.map::<T, i64>(|row| place(row) as i64);
        let elements = rows.rows.as_slice::<T>().unwrap_or_default();
        let chosen = places.as_slice::<i64>().unwrap_or_default();
        let chosen = elements.chunks_exact(rows.len.max(1)).zip(chosen).map(|(row, place)| row[*place as usize]);
        (Tensor::from_vec(&rows.shape, chosen.collect()), places)
    });
    (kept(values.to_dtype(x.dtype()), x, dims, keepdim), kept(places, x, dims, keepdim))
}

fn extreme(x: &Tensor, dim: Option<i64>, keepdim: bool, largest: bool) -> Result<Arg<Tensor>> {
    let dims = named(x, dim.as_ref().map(std::slice::from_ref))?;
    let (values, places) = choose(x, &dims, keepdim, largest);
    Ok(match dim {
        None => Arg::Value(values),
        Some(_) => Arg::Tuple(vec![Arg::Value(values), Arg::Value(places)]),
    })
}

pub(super) fn max(x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Arg<Tensor>> {
    extreme(x, dim, keepdim, true)
}

pub(super) fn min(x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Arg<Tensor>> {
    extreme(x, dim, keepdim, false)
}

pub(super) fn amax(x: &Tensor, dim: Dims, keepdim: bool) -> Result<Tensor> {
    let dims = named(x, dim.as_deref())?;
    Ok(match fast::reduce(Reduction::Max, x, &dims) {
        Some(y) => kept(y, x, &dims, keepdim),
        None => choose(x, &dims, keepdim, true).0,
    })
}

pub(super) fn amin(x: &Tensor, dim: Dims, keepdim: bool) -> Result<Tensor> {
    let dims = named(x, dim.as_deref())?;
    Ok(match fast::reduce(Reduction::Min, x, &dims) {
        Some(y) => kept(y, x, &dims, keepdim),
        None => choose(x, &dims, keepdim, false).0,
    })
}

pub(super) fn argmax(x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    Ok(choose(x, &named(x, dim.as_ref().map(std::slice::from_ref))?, keepdim, true).1)
}

pub(super) fn argmin(x: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    Ok(choose(x, &named(x, dim.as_ref().map(std::slice::from_ref))?, keepdim, false).1)
}

fn test(x: &Tensor, dim: Dims, keepdim: bool, f: impl Fn(&[bool]) -> bool) -> Result<Tensor> {
    let dims = named(x, dim.as_deref())?;
    let dtype = if x.dtype() == DType::U8 { DType::U8 } else { DType::Bool };
    Ok(reduce::<bool>(&x.to_dtype(DType::Bool), &dims, keepdim, f).to_dtype(dtype))
}

pub(super) fn any(x: &Tensor, dim: Dims, keepdim: bool) -> Result<Tensor> {
    test(x, dim, keepdim, |row| row.contains(&true))
}

pub(super) fn all(x: &Tensor, dim: Dims, keepdim: bool) -> Result<Tensor> {
    test(x, dim, keepdim, |row| !row.contains(&false))
}

pub(super) fn count_nonzero(x: &Tensor, dim: Dims) -> Result<Tensor> {
    let dims = named(x, dim.as_deref())?;
    let count = |row: &[bool]| row.iter().filter(|x| **x).count() as i64;
    Ok(iter::lanes(&x.to_dtype(DType::Bool), &dims).map::<bool, i64>(count))
}

/// The `p`-norm over dimensions.
pub(crate) fn norm_rows(x: &Tensor, p: f64, dims: &[usize], keepdim: bool) -> Tensor {
    fn norm<T: Real>(row: &[T], p: f64) -> f64 {
        let sizes = || row.iter().map(|x| x.f64().abs());
        // NaN stays.
        if p == f64::INFINITY {
            sizes().fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
        } else if p == f64::NEG_INFINITY {
            sizes().fold(f64::INFINITY, |least, x| if x < least || x.is_nan() { x } else { least })
        } else if p == 0.0 {
            sizes().filter(|x| *x != 0.0).count() as f64
        } else if p == 1.0 {
            sum_of_each(row, f64::abs)
        } else if p == 2.0 {
            rows::squares(row, 0.0).sqrt()
        } else {
            sum_of_each(row, |x| x.abs().powf(p)).powf(1.0 / p)
        }
    }
    in_floats!(x.dtype(), T => reduce::<T>(x, dims, keepdim, |row| T::of(norm(row, p))))
}

/// As [`norm_rows`], at least `eps`: what to divide by.
pub(crate) fn divisor_norms(x: &Tensor, p: f64, dims: &[usize], keepdim: bool, eps: f64) -> Tensor {
    let norm = norm_rows(x, p, dims, keepdim);
    let dtype = norm.dtype();
    let norms = in_floats!(dtype, T => {
        // NaN stays.
        let least = T::of(eps);
        iter::map_owned::<T>(norm.to_dtype(T::DTYPE), move |norm| if norm < least { least } else { norm })
    });
    norms.to_dtype(dtype)
}

pub(super) fn norm(x: &Tensor, p: f64, dim: Dims, keepdim: bool) -> Result<Tensor> {
    Ok(norm_rows(x, p, &named(x, dim.as_deref())?, keepdim))
}

pub(super) fn logsumexp(x: &Tensor, dim: SmallVec<[i64; 4]>, keepdim: bool) -> Result<Tensor> {
    let x = x.to_dtype(shape::float_of(x.dtype()));
    let dims = named(&x, Some(&dim))?;
    if let Some(y) = fast::logsumexp(&x, &dims) {
        return Ok(kept(y, &x, &dims, keepdim));
    }
    Ok(in_floats!(x.dtype(), T => reduce::<T>(&x, &dims, keepdim, |row| {
        let highest = row.iter().map(|x| x.f64()).fold(f64::NEG_INFINITY, f64::max);
        let shift = if highest.is_finite() { highest } else { 0.0 };
        T::of(sum_of_each(row, |x| (x - shift).exp()).ln() + shift)
    })))
}

/// A running value along a dimension.
fn scan(x: &Tensor, dim: i64, float: impl Fn(f64, f64) -> f64, int: impl Fn(i64, i64) -> i64) -> Result<Tensor> {
    let x = x.to_dtype(summed(x.dtype()));
    if x.ndim() == 0 {
        return Ok(x);
    }
    let (dim, last) = (shape::dim(dim, x.ndim())?, x.ndim() - 1);
    let moved = view::transpose(&x, dim, last).contiguous();
    let len = x.shape()[dim].max(1);
    let y = if moved.dtype().is_float() {
        in_floats!(x.dtype(), T => scanned::<T, f64>(&moved, len, |x| x.f64(), T::of, float))
    } else {
        scanned::<i64, i64>(&moved, len, |x| x, |x| x, int)
    };
    Ok(view::transpose(&y.to_dtype(x.dtype()), dim, last))
}

/// The running values of rows of `len` elements; what runs is not rounded to an element's type.
fn scanned<T: Element, S: Copy>(
    x: &Tensor,
    len: usize,
    state: impl Fn(T) -> S,
    element: impl Fn(S) -> T,
    next: impl Fn(S, S) -> S,
) -> Tensor {
    x.to_dtype(T::DTYPE).changed::<T>(|elements| {
        for row in elements.chunks_exact_mut(len) {
            let mut running = state(row[0]);
            for x in &mut row[1..] {
                running = next(running, state(*x));
                *x = element(running);
            }
        }
    })
}

pub(super) fn cumsum(x: &Tensor, dim: i64) -> Result<Tensor> {
    scan(x, dim, |sum, x| sum + x, i64::wrapping_add)
}

pub(super) fn cumprod(x: &Tensor, dim: i64) -> Result<Tensor> {
    scan(x, dim, |product, x| product * x, i64::wrapping_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_best_is_found_in_any_block() {
        let numbers = |len: usize, seed: usize| (0..len).map(move |i| ((i * 7919 + seed * 4001) % 97) as f32);
        for (len, seed) in [1, 63, 64, 65, 200, 1000].into_iter().flat_map(|len| (0..9).map(move |seed| (len, seed))) {
            let mut row: Vec<f32> = numbers(len, seed).collect();
            let highest = row.iter().copied().fold(f32::MIN, f32::max);
            let first = |wanted: f32| row.iter().position(|x| *x == wanted);
            assert_eq!(Some(best(&row, |a, b| a > b)), first(highest), "{len} {seed}");
            let lowest = row.iter().copied().fold(f32::MAX, f32::min);
            assert_eq!(Some(best(&row, |a, b| a < b)), first(lowest), "{len} {seed}");
            let place = (seed * 37) % len;
            row[place..].iter_mut().step_by(5).for_each(|x| *x = f32::NAN);
            assert_eq!(best(&row, |a, b| a > b), place, "{len} {seed}: not a number beats all");
        }
        assert_eq!(best::<i64>(&[3, 1, 1, 3], |a, b| a < b), 1);
    }
}
