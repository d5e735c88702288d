//! Distances between the rows of two matrices.

use fx_kernels::threads::for_each_piece;

use super::product::stacked;
use crate::error::{Error, Result};
use crate::ops::reduction::norm_rows;
use crate::ops::shape::{self, require_equal, require_float, require_ndim};
use crate::ops::wide::{in_floats, wide};
use crate::tensor::num::Real;
use crate::tensor::{Element, Tensor, iter, view};
use crate::value::TensorMeta;

pub(super) fn shape(a: &TensorMeta, b: &TensorMeta, p: f64) -> Result<TensorMeta> {
    for x in [a, b] {
        require_float(x)?;
        require_ndim(x, "the inputs", 2.., "at least 2")?;
    }
    if a.dtype != b.dtype {
        return Err(Error::dtype(format!("the inputs must have one element type, found {a} and {b}")));
    }
    if p.is_nan() || p < 0.0 {
        return Err(Error::argument(format!("`p` must be at least 0, found {p}")));
    }
    let (lead, others) = (a.ndim() - 2, b.ndim() - 2);
    let (width, other) = (&a.shape[lead + 1], &b.shape[others + 1]);
    require_equal(width, other, || {
        format!("the rows have {width} elements in the first input, {other} in the second")
    })?;
    let mut shape = shape::broadcast(&a.shape[..lead], &b.shape[..others])?;
    shape.extend([a.shape[lead].clone(), b.shape[others].clone()]);
    Ok(TensorMeta { shape, dtype: a.dtype })
}

pub(super) fn cdist(a: &Tensor, b: &Tensor, p: f64) -> Result<Tensor> {
    let dtype = a.dtype();
    let (lead, others) = (a.ndim() - 2, b.ndim() - 2);
    let (rows, columns, width) = (a.shape()[lead], b.shape()[others], a.shape()[lead + 1]);
    let batch = view::broadcast_shape(&[&a.shape()[..lead], &b.shape()[..others]]);
    let batch = batch.expect("invariant: shapes that broadcast");
    let sized = |first: usize, second: usize| [&batch[..], &[first, second]].concat();
    // The second matrix lies transposed, so that a loop goes over one element of all its rows.
    let b = view::transpose(b, others, others + 1);
    let a = view::expand(&a.to_dtype(wide(dtype)), &sized(rows, width));
    let b = view::expand(&b.to_dtype(wide(dtype)), &sized(width, columns));
    if p == 2.0 && rows.max(columns) > FEW {
        return Ok(by_product(&a, &b).to_dtype(dtype));
    }
    let (a, b) = (a.contiguous(), b.contiguous());
    let out = in_floats!(dtype, T => {
        let (a, b) = (a.as_slice::<T>().unwrap_or(&[]), b.as_slice::<T>().unwrap_or(&[]));
        Tensor::written(&sized(rows, columns), |out: &mut [T]| {
            let work = out.len() * width;
            for_each_piece(out, columns.max(1), work, |row, out| {
                let lines = &b[row / rows * width * columns..][..width * columns];
                distances(&a[row * width..][..width], lines, p, out);
            });
        })
    });
    Ok(out.to_dtype(dtype))
}

/// As many rows as PyTorch takes the differences of.
const FEW: usize = 25;

/// Euclidean distances of the rows of one matrix to the columns of another, by their product: as PyTorch's, those of rows that are nearly the
/// same are less exact than by differences.
fn by_product(a: &Tensor, b: &Tensor) -> Tensor {
    let [of_a, of_b] = [(a, a.ndim() - 1), (b, b.ndim() - 2)].map(|(x, dim)| norm_rows(x, 2.0, &[dim], true));
    in_floats!(a.dtype(), T => iter::zip3::<T, T, T, T>(&of_a, &of_b, &stacked(a, b), |a, b, product| {
        let square = a * a + b * b - (product + product);
        // NaN stays.
        if square < T::of(0.0) { T::of(0.0) } else { square.sqrt() }
    }))
}

/// The distances of one row to each of some, of which `lines` has the first elements, then the second, and so on.
fn distances<T: Element + Real>(row: &[T], lines: &[T], p: f64, out: &mut [T]) {
    let (zero, power) = (T::of(0.0), T::of(p));
    out.fill(zero);
    for (x, line) in row.iter().zip(lines.chunks_exact(out.len().max(1))) {
        let pairs = out.iter_mut().zip(line.iter().map(|y| (*x - *y).abs()));
        if p == 2.0 {
            pairs.for_each(|(sum, distance)| *sum += distance * distance);
        } else if p == 1.0 {
            pairs.for_each(|(sum, distance)| *sum += distance);
        } else if p == 0.0 {
            pairs.for_each(|(sum, distance)| *sum += T::of(f64::from(u8::from(distance != zero))));
        } else if p.is_infinite() {
            // NaN stays.
            pairs.for_each(|(most, distance)| {
                *most = if *most >= distance || most.f64().is_nan() { *most } else { distance }
            });
        } else {
            pairs.for_each(|(sum, distance)| *sum += distance.powf(power));
        }
    }
    if p == 2.0 {
        out.iter_mut().for_each(|sum| *sum = sum.sqrt());
    } else if p > 0.0 && p != 1.0 && p.is_finite() {
        out.iter_mut().for_each(|sum| *sum = sum.powf(T::of(1.0 / p)));
    }
}
