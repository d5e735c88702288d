//! Sums, means and maxima of bags of rows.

use std::borrow::Cow;
use std::ops::Range;

use fx_kernels::table::Bags;

use super::eval::places;
use crate::error::{Error, Result};
use crate::tensor::num::Real;
use crate::tensor::{Float, Tensor, dispatch_float};

/// Where each bag starts and ends among the indices.
fn bounds(input: &Tensor, offsets: Option<&Tensor>, include_last_offset: bool) -> Result<Vec<Range<usize>>> {
    let Some(offsets) = offsets else {
        let len = input.shape()[1];
        return Ok((0..input.shape()[0]).map(|bag| bag * len..(bag + 1) * len).collect());
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
        Ok(pair[0] as usize..pair[1] as usize)
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
    let mut bags = bounds(input, offsets, include_last_offset)?;
    let mut places = places(input, rows)?;
    let mut factors = per_sample_weights.map(Tensor::to_vec_as::<f64>);
    if let Some(padding) = padding_idx.map(|index| index.rem_euclid(rows.max(1) as i64) as usize) {
        let kept: Vec<usize> = (0..places.len()).filter(|index| places[*index] != padding).collect();
        let before = |index: usize| kept.partition_point(|kept| *kept < index);
        bags = bags.into_iter().map(|bag| before(bag.start)..before(bag.end)).collect();
        factors = factors.map(|factors| kept.iter().map(|index| factors[*index]).collect());
        places = kept.iter().map(|index| places[*index]).collect();
    }
    let weight = weight.contiguous();
    let shape = [bags.len(), width];
    if let Some(table) = weight.as_slice::<f32>().filter(|_| mode != "max") {
        let factors: Option<Vec<f32>> = factors.map(|factors| factors.iter().map(|factor| *factor as f32).collect());
        let (rows, factors, is_mean) = (&places[..], factors.as_deref(), mode == "mean");
        let all = Bags { table, width, rows, bags: &bags, factors, is_mean };
        return Ok(Tensor::written(&shape, |out| all.sum(out)));
    }
    Ok(dispatch_float!(weight.dtype(), T => {
        let elements = weight.as_slice::<T>().unwrap_or(&[]);
        let mut sum: Vec<<T as Float>::Compute> = vec![Real::of(0.0); width];
        Tensor::written::<T>(&shape, |out| {
            for (bag, out) in bags.iter().zip(out.chunks_exact_mut(width.max(1))) {
                sum.fill(Real::of(0.0));
                for i in bag.clone() {
                    let row = &elements[places[i] * width..][..width];
                    match &factors {
                        _ if mode == "max" => keep_larger(&mut sum, row, i == bag.start),
                        None => add(&mut sum, row, Real::of(1.0)),
                        Some(factors) => add(&mut sum, row, Real::of(factors[i])),
                    }
                }
                let count = if mode == "mean" { bag.len().max(1) } else { 1 };
                let count: <T as Float>::Compute = Real::of(count as f64);
                out.iter_mut().zip(&sum).for_each(|(out, x)| *out = T::narrow(*x / count));
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
