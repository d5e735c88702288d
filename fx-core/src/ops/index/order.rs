//! Ordering elements.

use crate::error::Result;
use crate::ops::kind::Num;
use crate::ops::rank::foremost_places;
use crate::ops::shape::{self, Rank, promote};
use crate::ops::wide::in_ordered;
use crate::tensor::{DType, Element, Scalar, Tensor, numel, view};

/// The first `count` elements of each row along a dimension in order, and where they were.
fn foremost(x: &Tensor, dim: i64, count: Option<usize>, descending: bool) -> Result<(Tensor, Tensor)> {
    let dim = shape::dim(dim, x.ndim())?;
    if x.ndim() == 0 {
        return Ok((x.clone(), Tensor::scalar(0_i64)));
    }
    let last = x.ndim() - 1;
    let moved = view::transpose(x, dim, last).contiguous();
    let len = moved.shape()[last];
    let count = count.unwrap_or(len);
    let mut result_shape = moved.shape().to_vec();
    result_shape[last] = count;
    let numel = numel(&result_shape);
    let (values, places) = in_ordered!(x.dtype(), T => {
        let moved = moved.to_dtype(T::DTYPE);
        let (mut values, mut places) = (Vec::with_capacity(numel), Vec::with_capacity(numel));
        let elements = moved.as_slice::<T>().unwrap_or(&[]);
        for row in elements.chunks_exact(len.max(1)) {
            for place in foremost_places(row, count, descending) {
                values.push(row[place]);
                places.push(place as i64);
            }
        }
        (Tensor::from_vec(&result_shape, values), Tensor::from_vec(&result_shape, places))
    });
    let values = values.to_dtype(x.dtype());
    Ok((view::transpose(&values, dim, last), view::transpose(&places, dim, last)))
}

pub(super) fn topk(x: &Tensor, k: i64, dim: i64, largest: bool, _: bool) -> Result<(Tensor, Tensor)> {
    foremost(x, dim, Some(k as usize), largest)
}

pub(super) fn sort(x: &Tensor, dim: i64, descending: bool, _: bool) -> Result<(Tensor, Tensor)> {
    foremost(x, dim, None, descending)
}

pub(super) fn argsort(x: &Tensor, dim: i64, descending: bool, _: bool) -> Result<Tensor> {
    Ok(foremost(x, dim, None, descending)?.1)
}

pub(super) fn searchsorted(sorted: &Tensor, values: Num<'_, Tensor>, right: bool) -> Result<Tensor> {
    let (values, rank) = match values {
        Num::Tensor(values) => (values.clone(), Rank::of(values.ndim())),
        Num::Scalar(number) => {
            // A float is not rounded before it is promoted.
            let dtype = if matches!(number, Scalar::Float(_)) { DType::F64 } else { number.dtype() };
            (Tensor::filled([], number, dtype), Rank::Number)
        }
        Num::Size(size) => (Tensor::scalar(size), Rank::Number),
    };
    let own = if rank == Rank::Number && values.dtype().is_float() { DType::F32 } else { values.dtype() };
    let dtype = promote([(sorted.dtype(), Rank::Dims), (own, rank)]);
    let len = sorted.shape()[sorted.ndim() - 1];
    let per_row = if sorted.ndim() == 1 { values.numel() } else { values.shape()[values.ndim() - 1] };
    Ok(in_ordered!(dtype, T => {
        let elements = |x: &Tensor| x.to_dtype(dtype).to_dtype(T::DTYPE).to_vec::<T>();
        let (rows, wanted) = (elements(sorted), elements(&values));
        let mut places = Vec::with_capacity(wanted.len());
        for (row, wanted) in wanted.chunks(per_row.max(1)).enumerate() {
            let row = &rows[row * len..(row + 1) * len];
            for want in wanted {
                // Neither holds beside NaN, which is so passed over.
                let before = |x: &T| if right { !later(x, want) } else { !(later(x, want) || x == want) };
                places.push(row.partition_point(before) as i64);
            }
        }
        Tensor::from_vec(values.shape(), places)
    }))
}

fn later<T: Element>(x: &T, than: &T) -> bool {
    x > than
}
