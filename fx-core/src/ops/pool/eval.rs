//! Pooling on tensors, one channel a piece of parallel work.

use std::ops::Range;

use fx_kernels::rows::Reduction;
use fx_kernels::threads::for_each_piece;

use super::infer::Windows;
use crate::error::Result;
use crate::ops::conv::{Plane, lift};
use crate::ops::elementwise::power;
use crate::ops::fast;
use crate::ops::wide::{Number, in_floats, in_ordered, wide};
use crate::tensor::num::Real;
use crate::tensor::{Dims, Element, Tensor, iter, numel, view};
use crate::value::TensorMeta;

/// A type that elements are compared in: all others are part of one of these.
trait Ordered: Element {
    const LOWEST: Self;
}

impl Ordered for f32 {
    const LOWEST: Self = f32::NEG_INFINITY;
}
impl Ordered for f64 {
    const LOWEST: Self = f64::NEG_INFINITY;
}
impl Ordered for i64 {
    const LOWEST: Self = i64::MIN;
}

/// Whether one element takes another's place: it is larger, or NaN.
fn beats<T: Element>(x: T, best: T) -> bool {
    x > best || x.partial_cmp(&x).is_none()
}

impl<const N: usize> Windows<N> {
    /// The walk over a channel of `x`, and the shape of the result.
    fn plane(&self, x: &Tensor) -> Result<(Plane, Dims)> {
        let shape = self.shape(&TensorMeta::from(x))?.concrete_shape().unwrap_or_default();
        let lead = x.ndim() - N;
        let plane = Plane {
            input: lift::<N>(std::array::from_fn(|i| x.shape()[lead + i]), 1),
            output: lift::<N>(std::array::from_fn(|i| shape[lead + i]), 1),
            kernel: lift(self.kernel, 1),
            stride: lift(self.stride, 1),
            dilation: lift(self.dilation, 1),
            before: lift(self.padding, 0),
        };
        Ok((plane, shape))
    }

    /// How many elements of each window count, in `x` or also in the padding.
    fn counts(&self, x: &Tensor, shape: &[usize], with_padding: bool) -> Vec<f64> {
        let lead = x.ndim() - N;
        (0..N).fold(vec![1.0], |counts, i| {
            let (size, padding) = (x.shape()[lead + i], self.padding[i]);
            let along = |index: usize| {
                let start = index * self.stride[i];
                let stop = (start + self.kernel[i]).min(size + 2 * padding);
                let inside = stop.saturating_sub(padding).min(size).saturating_sub(start.saturating_sub(padding));
                if with_padding { stop.saturating_sub(start) } else { inside }
            };
            let along: Vec<f64> = (0..shape[lead + i]).map(|index| along(index) as f64).collect();
            counts.iter().flat_map(|count| along.iter().map(move |along| count * along)).collect()
        })
    }
}

/// What the windows of one channel hold, brought together: row by row, each tap of the window at a time.
fn fold_plane<T: Copy>(plane: &Plane, x: &[T], out: &mut [T], fold: impl Fn(&mut T, T)) {
    for tap in 0..plane.taps() {
        plane.rows(plane.tap(tap), |range, first| {
            let out = &mut out[range];
            if plane.stride[2] == 1 {
                out.iter_mut().zip(&x[first..]).for_each(|(state, &x)| fold(state, x));
            } else {
                out.iter_mut().zip(x[first..].iter().step_by(plane.stride[2])).for_each(|(state, &x)| fold(state, x));
            }
        });
    }
}

pub(super) fn max<const N: usize>(
    x: &Tensor,
    kernel: [usize; N],
    stride: Option<[usize; N]>,
    padding: [usize; N],
    dilation: [usize; N],
    ceil_mode: bool,
) -> Result<Tensor> {
    let (plane, shape) = Windows::new(kernel, stride, padding, dilation, ceil_mode).plane(x)?;
    Ok(largest(x, &plane, shape))
}

/// The largest element of each window.
fn largest(x: &Tensor, plane: &Plane, shape: Dims) -> Tensor {
    let (inputs, outputs) = (plane.inputs(), plane.outputs());
    in_ordered!(x.dtype(), T => {
        let x = x.to_dtype(T::DTYPE).contiguous();
        let elements = x.as_slice::<T>().unwrap_or(&[]);
        let mut out = vec![T::LOWEST; numel(&shape)];
        let work = out.len() * plane.taps();
        for_each_piece(&mut out, outputs, work, |channel, out| {
            let keep = |best: &mut T, x: T| *best = if beats(x, *best) { x } else { *best };
            fold_plane(plane, &elements[channel * inputs..][..inputs], out, keep);
        });
        Tensor::from_vec(shape, out)
    })
    .to_dtype(x.dtype())
}

pub(super) fn max_with_indices(
    x: &Tensor,
    kernel: [usize; 2],
    stride: Option<[usize; 2]>,
    padding: [usize; 2],
    dilation: [usize; 2],
    ceil_mode: bool,
) -> Result<(Tensor, Tensor)> {
    let (plane, shape) = Windows::new(kernel, stride, padding, dilation, ceil_mode).plane(x)?;
    let channels = numel(&shape[..shape.len() - 2]);
    let (inputs, outputs) = (plane.inputs(), plane.outputs());
    let (values, indices) = in_ordered!(x.dtype(), T => {
        let x = x.to_dtype(T::DTYPE).contiguous();
        let elements = x.as_slice::<T>().unwrap_or(&[]);
        let mut best: Vec<(T, Option<usize>)> = vec![(T::LOWEST, None); channels * outputs];
        for_each_piece(&mut best, outputs, channels * outputs * plane.taps(), |channel, best| {
            let x = &elements[channel * inputs..][..inputs];
            for tap in 0..plane.taps() {
                plane.rows(plane.tap(tap), |range, first| {
                    for (i, best) in best[range].iter_mut().enumerate() {
                        let place = first + i * plane.stride[2];
                        if best.1.is_none() || beats(x[place], best.0) {
                            *best = (x[place], Some(place));
                        }
                    }
                });
            }
        });
        let indices: Vec<i64> = best.iter().map(|(_, place)| place.unwrap_or(0) as i64).collect();
        let values: Vec<T> = best.iter().map(|(value, _)| *value).collect();
        (Tensor::from_vec(&shape, values), Tensor::from_vec(&shape, indices))
    });
    Ok((values.to_dtype(x.dtype()), indices))
}

/// The windows of the three dimensions.
struct Spans {
    input: [usize; 3],
    windows: [Vec<Range<usize>>; 3],
}

impl Spans {
    /// So many windows of nearly equal size that cover the input.
    fn adaptive<const N: usize>(x: &Tensor, sizes: [usize; N]) -> Self {
        let lead = x.ndim() - N;
        let input = lift::<N>(std::array::from_fn(|i| x.shape()[lead + i]), 1);
        let counts = lift::<N>(sizes, 1);
        let windows = std::array::from_fn(|i| {
            let window = |index: usize| index * input[i] / counts[i]..((index + 1) * input[i]).div_ceil(counts[i]);
            (0..counts[i]).map(window).collect()
        });
        Self { input, windows }
    }

    /// A value for each window of each channel: `f` of its elements, folded from `start`, and of its size.
    fn pool<T: Element>(
        &self,
        x: &Tensor,
        shape: &[usize],
        start: T,
        fold: impl Fn(T, &[T]) -> T + Sync,
        finish: impl Fn(T, usize) -> T + Sync,
    ) -> Tensor {
        let x = x.to_dtype(T::DTYPE).contiguous();
        let elements = x.as_slice::<T>().unwrap_or(&[]);
        let [_, height, width] = self.input;
        let inputs: usize = self.input.iter().product();
        let outputs: usize = self.windows.iter().map(Vec::len).product();
        let mut out = vec![start; numel(shape)];
        let work = x.numel() + out.len();
        for_each_piece(&mut out, outputs, work, |channel, out| {
            let x = &elements[channel * inputs..][..inputs];
            let mut out = out.iter_mut();
            for depths in &self.windows[0] {
                for heights in &self.windows[1] {
                    for (widths, out) in self.windows[2].iter().zip(&mut out) {
                        let mut state = start;
                        for z in depths.clone() {
                            for y in heights.clone() {
                                state = fold(state, &x[(z * height + y) * width..][widths.clone()]);
                            }
                        }
                        *out = finish(state, depths.len() * heights.len() * widths.len());
                    }
                }
            }
        });
        Tensor::from_vec(shape, out)
    }

    /// The sums of the windows divided by their sizes.
    fn means(&self, x: &Tensor, shape: &[usize]) -> Tensor {
        let mean = in_floats!(x.dtype(), T => {
            self.pool::<T>(x, shape, T::of(0.0), |sum, row| sum + total(row), |sum, size| sum / T::of(size as f64))
        });
        mean.to_dtype(x.dtype())
    }

    /// The largest element of each window.
    fn largest(&self, x: &Tensor, shape: &[usize]) -> Tensor {
        in_ordered!(x.dtype(), T => {
            let largest = |best, row: &[T]| row.iter().fold(best, |best, &x| if beats(x, best) { x } else { best });
            self.pool::<T>(x, shape, T::LOWEST, largest, |best, _| best)
        })
        .to_dtype(x.dtype())
    }
}

/// The sum of a row, long ones in eight parts.
fn total<T: Number>(row: &[T]) -> T {
    let mut parts = [T::of(0.0); 8];
    let chunks = row.chunks_exact(8);
    let rest: T = chunks.remainder().iter().copied().sum();
    for chunk in chunks {
        parts.iter_mut().zip(chunk).for_each(|(part, &x)| *part += x);
    }
    parts.into_iter().sum::<T>() + rest
}

pub(super) fn avg<const N: usize>(
    x: &Tensor,
    kernel: [usize; N],
    stride: Option<[usize; N]>,
    padding: [usize; N],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: Option<i64>,
) -> Result<Tensor> {
    let pool = Windows::new(kernel, stride, padding, [1; N], ceil_mode);
    let (plane, shape) = pool.plane(x)?;
    let divisors = match divisor {
        Some(divisor) => vec![divisor as f64; plane.outputs()],
        None => pool.counts(x, &shape, count_include_pad),
    };
    Ok(quotients(x, &plane, &shape, &divisors))
}

/// The sum of each window, divided by its number.
fn quotients(x: &Tensor, plane: &Plane, shape: &[usize], divisors: &[f64]) -> Tensor {
    let (inputs, outputs) = (plane.inputs(), plane.outputs());
    let means = in_floats!(x.dtype(), T => {
        let x = x.to_dtype(T::DTYPE).contiguous();
        let elements = x.as_slice::<T>().unwrap_or(&[]);
        let divisors: Vec<T> = divisors.iter().map(|divisor| T::of(*divisor)).collect();
        let mut out = vec![T::of(0.0); numel(shape)];
        let work = out.len() * plane.taps();
        for_each_piece(&mut out, outputs, work, |channel, out| {
            fold_plane(plane, &elements[channel * inputs..][..inputs], out, |sum, x| *sum += x);
            out.iter_mut().zip(&divisors).for_each(|(sum, divisor)| *sum /= *divisor);
        });
        Tensor::from_vec(shape, out)
    });
    means.to_dtype(x.dtype())
}

pub(super) fn avg1d(
    x: &Tensor,
    kernel: [usize; 1],
    stride: Option<[usize; 1]>,
    padding: [usize; 1],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Result<Tensor> {
    avg(x, kernel, stride, padding, ceil_mode, count_include_pad, None)
}

fn adaptive_shape<const N: usize>(x: &Tensor, sizes: [usize; N]) -> Dims {
    let mut shape = Dims::from_slice(&x.shape()[..x.ndim() - N]);
    shape.extend(sizes);
    shape
}

pub(crate) fn adaptive_avg<const N: usize>(x: &Tensor, sizes: [usize; N]) -> Result<Tensor> {
    if sizes == [1; N] {
        let dims: Vec<usize> = (x.ndim() - N..x.ndim()).collect();
        if let Some(y) = fast::reduce(Reduction::Mean, x, &dims) {
            return Ok(view::reshape(&y, &adaptive_shape(x, sizes)));
        }
    }
    Ok(Spans::adaptive(x, sizes).means(x, &adaptive_shape(x, sizes)))
}

pub(super) fn adaptive_max<const N: usize>(x: &Tensor, sizes: [usize; N]) -> Result<Tensor> {
    Ok(Spans::adaptive(x, sizes).largest(x, &adaptive_shape(x, sizes)))
}

pub(super) fn lp(
    x: &Tensor,
    norm_type: f64,
    kernel: [usize; 2],
    stride: Option<[usize; 2]>,
    ceil_mode: bool,
) -> Result<Tensor> {
    let dtype = x.dtype();
    let area = (kernel[0] * kernel[1]) as f64;
    let powers = power(&x.to_dtype(wide(dtype)), norm_type);
    let means = avg(&powers, kernel, stride, [0; 2], ceil_mode, true, None)?;
    // As PyTorch: the mean times the size of a whole window, also where a window at the edge is short of elements.
    let sums = in_floats!(dtype, T => iter::map_owned::<T>(means, |mean| mean * T::of(area)));
    Ok(power(&sums, 1.0 / norm_type).to_dtype(dtype))
}
