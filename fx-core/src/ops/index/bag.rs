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
        let mut out: Vec<T> = Vec::with_capacity(bounds.len() * width);
        for (start, stop) in bounds {
            let chosen: Vec<usize> = (start..stop).filter(|&i| Some(places[i]) != padding).collect();
            let mut bag: Vec<<T as Float>::Compute> = vec![Real::of(0.0); width];
            for (number, &i) in chosen.iter().enumerate() {
                let row = &elements[places[i] * width..(places[i] + 1) * width];
                let factor = Real::of(factors.as_ref().map_or(1.0, |factors| factors[i]));
                pour(&mut bag, row, factor, mode == "max" && number > 0, mode == "max");
            }
            let count = if mode == "mean" { chosen.len().max(1) } else { 1 };
            let count: <T as Float>::Compute = Real::of(count as f64);
            out.extend(bag.into_iter().map(|x| T::narrow(x / count)));
        }
        Tensor::from_vec(shape, out)
    }, weight.clone()))
}

/// Adds a row to a bag, or takes it where it is larger; the first row of a maximum is taken as it is.
fn pour<T: Float>(bag: &mut [T::Compute], row: &[T], factor: T::Compute, compare: bool, max: bool) {
    for (sum, x) in bag.iter_mut().zip(row) {
        let x = x.widen();
        if !max {
            *sum += x * factor;
        } else if !compare || x > *sum {
            *sum = x;
        }
    }
}
