//! Sums, means and maxima of bags of rows.

use std::borrow::Cow;

use super::eval::places;
use crate::error::{Error, Result};
use crate::tensor::num::Real;
use crate::tensor::{Float, Tensor, dispatch_float};

/// Where each bag starts and ends among the indices.
fn bounds(input: &Tensor, offsets: Option<&Tensor>, include_last_offset: bool) -> Result<Vec<(usize, usize)>> {
    let Some(offsets) = offsets else {
        let len = input.shape()[1];
        return Ok((0..input.shape()[0]).map(|bag| (bag * len, (bag + 1) * len)).collect());
    };
    let mut offsets = offsets.to_vec_as::<i64>();
    let len = input.numel() as i64;
    if let Some(first) = offsets.first().filter(|first| **first != 0) {
        return Err(Error::argument(format!("the first offset must be 0, found {first}")));
    }
    if !include_last_offset {
        offsets.push(len);
    }
    let steps = offsets.windows(2).map(|pair| {
        if pair[0] > pair[1] || pair[1] > len {
            return Err(Error::argument(format!(
                "offsets must rise and not pass the {len} indices, found {} before {}",
                pair[0], pair[1]
            )));
        }
        Ok((pair[0] as usize, pair[1] as usize))
    });
    steps.collect()
}

pub(super) fn embedding_bag(
    input: &Tensor,
    weight: &Tensor,
    offsets: Option<&Tensor>,
    per_sample_weights: Option<&Tensor>,
    mode: Cow<'static, str>,
    include_last_offset: bool,
    padding_idx: Option<i64>,
) -> Result<Tensor> {
    let (rows, width) = (weight.shape()[0], weight.shape()[1]);
    let bounds = bounds(input, offsets, include_last_offset)?;
    let places = places(input, rows)?;
    let padding = padding_idx.map(|index| index.rem_euclid(rows.max(1) as i64) as usize);
    let factors = per_sample_weights.map(Tensor::to_vec_as::<f64>);
    let weight = weight.contiguous();
    let shape = [bounds.len(), width];
    Ok(dispatch_float!(weight.dtype(), T => {
        let elements = weight.as_slice::<T>().unwrap_or(&[]);
        let mut bag: Vec<<T as Float>::Compute> = vec![Real::of(0.0); width];
        Tensor::written::<T>(&shape, |out| {
            for (&(start, stop), out) in bounds.iter().zip(out.chunks_exact_mut(width.max(1))) {
                bag.fill(Real::of(0.0));
                let mut count = 0;
                for i in (start..stop).filter(|&i| Some(places[i]) != padding) {
                    let row = &elements[places[i] * width..][..width];
                    match &factors {
                        _ if mode == "max" => keep_larger(&mut bag, row, count == 0),
                        None => add(&mut bag, row, Real::of(1.0)),
                        Some(factors) => add(&mut bag, row, Real::of(factors[i])),
                    }
                    count += 1;
                }
                let count = if mode == "mean" { count.max(1) } else { 1 };
                let count: <T as Float>::Compute = Real::of(f64::from(count));
                out.iter_mut().zip(&bag).for_each(|(out, x)| *out = T::narrow(*x / count));
            }
        })
    }, weight.clone()))
}

/// Adds a row to a bag.
fn add<T: Float>(bag: &mut [T::Compute], row: &[T], factor: T::Compute) {
    bag.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.widen() * factor);
}

/// Takes what is larger in a row; all of it if it is the first.
fn keep_larger<T: Float>(bag: &mut [T::Compute], row: &[T], is_first: bool) {
    for (largest, x) in bag.iter_mut().zip(row) {
        let x = x.widen();
        if is_first || x > *largest {
            *largest = x;
        }
    }
}
