//! Images sampled at the places of a grid, and the grids of affine maps.
//!
//! A place is looked at dimension by dimension: each has some taps, an element and its weight, and the taps of a place are all
//! combinations of them.

use std::borrow::Cow;

use fx_kernels::threads::for_each_piece;
use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::ops::shape::{require_equal, require_float, require_ndim};
use crate::ops::wide::{in_floats, wide};
use crate::tensor::num::Real;
use crate::tensor::{DType, Dims, Element, Tensor, numel};
use crate::value::{Dim, Shape, TensorMeta};

type Word = Cow<'static, str>;

/// How many places have their taps in memory at once, so that these stay in the cache for all channels.
const BLOCK: usize = 1 << 11;

pub(super) fn grid_sample_shape(
    x: &TensorMeta,
    grid: &TensorMeta,
    mode: Word,
    padding_mode: Word,
    _align_corners: bool,
) -> Result<TensorMeta> {
    require_float(x)?;
    require_ndim(x, "the input", 4..=5, "4 or 5")?;
    if !matches!(&*mode, "bilinear" | "nearest" | "bicubic") {
        return Err(Error::argument(format!("`mode` is \"bilinear\", \"nearest\" or \"bicubic\", not \"{mode}\"")));
    }
    if !matches!(&*padding_mode, "zeros" | "border" | "reflection") {
        let message = format!("`padding_mode` is \"zeros\", \"border\" or \"reflection\", not \"{padding_mode}\"");
        return Err(Error::argument(message));
    }
    if grid.dtype != x.dtype {
        return Err(Error::dtype(format!("the input and the grid must have one element type, found {x} and {grid}")));
    }
    let spatial = x.ndim() - 2;
    if grid.ndim() != x.ndim() || !grid.shape[spatial + 1].may_eq(&Dim::from(spatial)) {
        return Err(Error::shape(format!(
            "the grid for {x} must have {} dimensions, the last with {spatial} coordinates, found {grid}",
            x.ndim()
        ))
        .help("the coordinates of a place are in the last dimension, that along the width first"));
    }
    require_equal(&x.shape[0], &grid.shape[0], || {
        format!("the input and the grid must have the same batch size, found {x} and {grid}")
    })?;
    if x.shape[2..].iter().any(|size| size.as_int() == Some(0)) {
        return Err(Error::shape(format!("there is nothing to sample in {x}")));
    }
    let mut shape = Shape::from(&x.shape[..2]);
    shape.extend(grid.shape[1..=spatial].iter().cloned());
    Ok(TensorMeta { shape, dtype: x.dtype })
}

/// What lies around the image.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    Zeros,
    Border,
    Reflection,
}

/// How the places along a dimension are looked at.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    around: Around,
    align_corners: bool,
}

impl Axis {
    /// A coordinate from -1 to 1 as a place among the elements.
    fn place<T: Real>(&self, coordinate: T) -> T {
        let (one, half) = (T::of(1.0), T::of(self.size as f64 / 2.0));
        if self.align_corners {
            (coordinate + one) * T::of((self.size as f64 - 1.0) / 2.0)
        } else {
            (coordinate + one) * half - T::of(0.5)
        }
    }

    /// A place within the image, unless zeros lie around it. NaN is the first element.
    fn within<T: Real>(&self, place: T) -> T {
        let zero = T::of(0.0);
        let place = match self.around {
            Around::Zeros => return place,
            Around::Border => place,
            Around::Reflection if self.align_corners && self.size == 1 => return zero,
            Around::Reflection => {
                let (low, span) = if self.align_corners { (0.0, self.size - 1) } else { (-0.5, self.size) };
                let (low, twice) = (T::of(low), T::of(2.0 * span as f64));
                let distance = (place - low).abs();
                let rest = distance - (distance / twice).trunc() * twice;
                let back = twice - rest;
                (if rest < back { rest } else { back }) + low
            }
        };
        let last = T::of(self.size as f64 - 1.0);
        if place > last {
            last
        } else if place > zero {
            place
        } else {
            zero
        }
    }

    /// The element at a whole place, and its weight. Outside of the image are zeros; a weight that is NaN counts there too.
    fn tap<T: Real>(&self, place: T, weight: T) -> (usize, T) {
        let place = place.f64();
        let inside = (0.0..self.size as f64).contains(&place);
        if inside { (place as i64 as usize, weight) } else { (0, weight * T::of(0.0)) }
    }

    /// The elements for a coordinate: the nearest one, two of linear interpolation, or four of cubic.
    fn taps<T: Real, const EACH: usize>(&self, coordinate: T) -> [(usize, T); EACH] {
        let (one, place) = (T::of(1.0), self.place(coordinate));
        let mut taps = [(0, T::of(0.0)); EACH];
        match EACH {
            1 => taps[0] = self.tap(self.within(place).round(), one),
            2 => {
                let place = self.within(place);
                let low = floor(place);
                let part = place - low;
                (taps[0], taps[1]) = (self.tap(low, one - part), self.tap(low + one, part));
            }
            _ => {
                let low = floor(place);
                let part = place - low;
                let weights = [far(part + one), near(part), near(one - part), far(one - part + one)];
                for ((tap, weight), step) in taps.iter_mut().zip(weights).zip([-1.0, 0.0, 1.0, 2.0]) {
                    *tap = self.tap(self.within(low + T::of(step)), weight);
                }
            }
        }
        taps
    }
}

/// The whole number below, without a call of the C library for those that are usual.
fn floor<T: Real>(x: T) -> T {
    let whole = T::of(x.f64() as i32 as f64);
    match x.abs() < T::of(1e9) {
        true if whole > x => whole - T::of(1.0),
        true => whole,
        false => x.floor(),
    }
}

/// The steepness of cubic interpolation (Keys, 1981), as PyTorch has it.
const STEEPNESS: f64 = -0.75;

/// The weight of an element at a distance of at most 1.
fn near<T: Real>(x: T) -> T {
    (T::of(STEEPNESS + 2.0) * x - T::of(STEEPNESS + 3.0)) * x * x + T::of(1.0)
}

/// The weight of an element at a distance between 1 and 2.
fn far<T: Real>(x: T) -> T {
    let a = T::of(STEEPNESS);
    ((a * x - T::of(5.0) * a) * x + T::of(8.0) * a) * x - T::of(4.0) * a
}

pub(super) fn grid_sample(
    x: &Tensor,
    grid: &Tensor,
    mode: Word,
    padding_mode: Word,
    align_corners: bool,
) -> Result<Tensor> {
    let (dtype, spatial) = (x.dtype(), x.ndim() - 2);
    let around = match &*padding_mode {
        "border" => Around::Border,
        "reflection" => Around::Reflection,
        _ => Around::Zeros,
    };
    let axes: SmallVec<[Axis; 3]> = x.shape()[2..].iter().map(|&size| Axis { size, around, align_corners }).collect();
    let mut shape = Dims::from_slice(&x.shape()[..2]);
    shape.extend_from_slice(&grid.shape()[1..=spatial]);
    let (channels, places) = (x.shape()[1], numel(&shape[2..]));
    let convert = |x: &Tensor| x.to_dtype(wide(dtype)).contiguous();
    let (x, grid) = (convert(x), convert(grid));
    let out = in_floats!(dtype, T => {
        let (x, grid) = (x.as_slice::<T>().unwrap_or(&[]), grid.as_slice::<T>().unwrap_or(&[]));
        let mut out = vec![T::of(0.0); numel(&shape)];
        let work = out.len() * 16;
        for_each_piece(&mut out, (channels * places).max(1), work, |index, out| {
            let x = &x[index * channels * numel_of(&axes)..][..channels * numel_of(&axes)];
            let grid = &grid[index * places * spatial..][..places * spatial];
            match &*mode {
                "nearest" => sample::<T, 1>(x, grid, &axes, places, out),
                "bicubic" => sample::<T, 4>(x, grid, &axes, places, out),
                _ => sample::<T, 2>(x, grid, &axes, places, out),
            }
        });
        Tensor::from_vec(&shape, out)
    });
    Ok(out.to_dtype(dtype))
}

/// The elements of one channel.
fn numel_of(axes: &[Axis]) -> usize {
    axes.iter().map(|axis| axis.size).product()
}

/// Samples all channels of an image, with so many taps along each axis.
fn sample<T: Element + Real, const EACH: usize>(x: &[T], grid: &[T], axes: &[Axis], places: usize, out: &mut [T]) {
    let count = EACH.pow(axes.len() as u32);
    let mut taps = vec![(0, T::of(0.0)); count * BLOCK.min(places)];
    for first in (0..places).step_by(BLOCK) {
        let block = first..places.min(first + BLOCK);
        let taps = &mut taps[..count * block.len()];
        let grid = grid[block.start * axes.len()..].chunks_exact(axes.len());
        taps.chunks_exact_mut(count).zip(grid).for_each(|(taps, place)| combine::<T, EACH>(place, axes, taps));
        let mut channels: Vec<&mut [T]> = out.chunks_exact_mut(places).map(|out| &mut out[block.clone()]).collect();
        let work = channels.len() * taps.len() * 4;
        for_each_piece(&mut channels, TOGETHER, work, |index, out| {
            let x = &x[index * TOGETHER * numel_of(axes)..];
            match out {
                [a, b, c] => add_up::<T, EACH, TOGETHER>(x, numel_of(axes), taps, count, [a, b, c]),
                out => {
                    for (x, out) in x.chunks_exact(numel_of(axes)).zip(out) {
                        add_up::<T, EACH, 1>(x, numel_of(axes), taps, count, [out]);
                    }
                }
            }
        });
    }
}

/// How many channels are sampled at a time: of each tap the place and the weight are read once for them.
const TOGETHER: usize = 3;

/// The sums of the taps of each place, so many of each, in some channels of so many elements.
fn add_up<T: Element + Real, const EACH: usize, const CHANNELS: usize>(
    x: &[T],
    area: usize,
    taps: &[(usize, T)],
    count: usize,
    mut out: [&mut [T]; CHANNELS],
) {
    let channels: [&[T]; CHANNELS] = std::array::from_fn(|channel| &x[channel * area..][..area]);
    for (index, taps) in taps.chunks_exact(count).enumerate() {
        let mut sums = [T::of(0.0); CHANNELS];
        // In pieces of a known length.
        for taps in taps.as_chunks::<EACH>().0 {
            for (place, weight) in taps {
                for (sum, channel) in sums.iter_mut().zip(channels) {
                    *sum += channel[*place] * *weight;
                }
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            out[index] = sum;
        }
    }
}

/// Writes the taps of a place, all combinations of those along each axis. The coordinate of the last axis is the first.
#[inline(always)]
fn combine<T: Real, const EACH: usize>(coordinates: &[T], axes: &[Axis], taps: &mut [(usize, T)]) {
    let along = |axis: usize| axes[axis].taps::<T, EACH>(coordinates[axes.len() - 1 - axis]);
    let both =
        |(place, weight): (usize, T), size: usize, (tap, factor): (usize, T)| (place * size + tap, weight * factor);
    let lines = along(0);
    if let [_, row] = axes {
        let row_taps = along(1);
        for (line, taps) in lines.into_iter().zip(taps.as_chunks_mut::<EACH>().0) {
            *taps = row_taps.map(|tap| both(line, row.size, tap));
        }
    } else {
        let (rows, columns) = (along(1), along(2));
        for (plane, taps) in lines.into_iter().zip(taps.chunks_exact_mut(EACH * EACH)) {
            for (row, taps) in rows.into_iter().zip(taps.as_chunks_mut::<EACH>().0) {
                let line = both(plane, axes[1].size, row);
                *taps = columns.map(|tap| both(line, axes[2].size, tap));
            }
        }
    }
}

pub(super) fn affine_grid_shape(
    theta: &TensorMeta,
    size: SmallVec<[Dim; 6]>,
    _align_corners: bool,
) -> Result<TensorMeta> {
    require_float(theta)?;
    if !matches!(size.len(), 4 | 5) {
        return Err(Error::argument(format!(
            "`size` must have 4 or 5 numbers, those of the images, found {}",
            size.len()
        )));
    }
    let spatial = size.len() - 2;
    let [batch, rows, columns] = &theta.shape[..] else { return Err(no_matrices(theta, spatial)) };
    if !rows.may_eq(&Dim::from(spatial)) || !columns.may_eq(&Dim::from(spatial + 1)) {
        return Err(no_matrices(theta, spatial));
    }
    require_equal(batch, &size[0], || format!("there are {batch} matrices in {theta} for {} images", size[0]))?;
    if size[2..].iter().any(|size| size.as_int().is_some_and(|size| size < 1)) {
        return Err(Error::argument(format!("the sizes of the images must be at least 1, found {size:?}")));
    }
    let mut shape = Shape::new();
    shape.push(batch.clone());
    shape.extend(size[2..].iter().cloned());
    shape.push(Dim::from(spatial));
    Ok(TensorMeta { shape, dtype: theta.dtype })
}

fn no_matrices(theta: &TensorMeta, spatial: usize) -> Error {
    let columns = spatial + 1;
    Error::shape(format!(
        "for this size `theta` must be [N, {spatial}, {columns}], a matrix for each image, found {theta}"
    ))
}

pub(super) fn affine_grid(theta: &Tensor, size: SmallVec<[i64; 6]>, align_corners: bool) -> Result<Tensor> {
    let spatial = size.len() - 2;
    let sizes: Dims = size[2..].iter().map(|&size| size as usize).collect();
    let coordinate = |place: usize, size: usize| match (align_corners, size) {
        (true, 1) => 0.0,
        (true, size) => 2.0 * place as f64 / (size as f64 - 1.0) - 1.0,
        (false, size) => (2.0 * place as f64 + 1.0) / size as f64 - 1.0,
    };
    let mut shape = Dims::from_slice(&theta.shape()[..1]);
    shape.extend_from_slice(&sizes);
    shape.push(spatial);
    let wide = theta.to_dtype(DType::F64).contiguous();
    let matrices = wide.as_slice::<f64>().unwrap_or(&[]);
    let mut out = Vec::with_capacity(numel(&shape));
    for matrix in matrices.chunks_exact(spatial * (spatial + 1)) {
        for place in 0..numel(&sizes) {
            // The width first, which changes fastest.
            let mut rest = place;
            let mut coordinates: SmallVec<[f64; 3]> = SmallVec::new();
            for size in sizes.iter().rev() {
                coordinates.push(coordinate(rest % size, *size));
                rest /= size;
            }
            for row in matrix.chunks_exact(spatial + 1) {
                let products = row.iter().zip(&coordinates).map(|(factor, x)| factor * x);
                out.push(products.sum::<f64>() + row[spatial]);
            }
        }
    }
    Ok(Tensor::from_vec(&shape, out).to_dtype(theta.dtype()))
}
