//! Group norm: of images with the channels first, and as a factor and a summand for each channel of each image, in either layout, so
//! that what follows can be computed with it.

use std::ops::Range;
use std::ptr::null_mut;

use super::norm::{Affine, moments};
use super::{Input, Pointers, for_vectors, rows_of, tasks};
use crate::math::Single;
use crate::memory::scratch;
use crate::simd::{Kernel, Level, Vector, dispatch, load, store};
use crate::threads::{Shared, for_each};

/// The numbers of a few pixels that stay in the first-level cache.
const BLOCK: usize = 4096;
/// The numbers of the pixels of a task.
const BAND: usize = 64 * 1024;
/// The vectors of channels whose moments are found side by side.
const SIDES: usize = 4;

/// Writes groups of channels with mean 0 and variance 1, times the weight, plus the bias of each channel (Wu and He,
/// 2018); `x` is `[outer, channels, area]`. As many groups as channels make it an instance norm.
///
/// # Panics
/// If an operand has another length than `out`, `groups` does not divide `channels`, or those times `area` not the
/// length, or there are not as many weights and biases as channels.
pub fn group_norm(out: &mut [f32], x: Input<'_>, channels: usize, area: usize, groups: usize, affine: Affine<'_>) {
    group_norm_at(Level::detect(), out, x, channels, area, groups, affine);
}

pub(super) fn group_norm_at(
    level: Level,
    out: &mut [f32],
    mut x: Input<'_>,
    channels: usize,
    area: usize,
    groups: usize,
    affine: Affine<'_>,
) {
    let total = out.len();
    if total == 0 {
        return;
    }
    assert!(channels.is_multiple_of(groups), "{groups} groups do not divide {channels} channels");
    assert!(total.is_multiple_of(channels * area), "images of {channels} by {area} elements do not divide {total}");
    affine.check(channels);
    let at = x.pointers(out);
    let each = channels / groups;
    tasks(total / (each * area), each * area, 6 * total, |group, stop| {
        dispatch(level, Normalised { at, area, channels: each, groups, group, stop, affine });
    });
}

/// Images whose channels are normalised in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The channels of an image.
    pub channels: usize,
    /// The groups that they make; as many as channels make it an instance norm.
    pub groups: usize,
    /// The pixels of an image.
    pub area: usize,
    /// Whether the channels of a pixel are neighbours in memory, not the pixels of a channel.
    pub channels_last: bool,
    /// Whether two such channels, of which there is an even number, are a word of two bf16.
    pub pairs: bool,
}

/// Writes what each channel is to be multiplied with, then what is to be added to it, so that groups of channels get mean 0 and
/// variance 1, times the weight, plus the bias of each channel (Wu and He, 2018). `factors` is `[2, images, channels]`.
///
/// # Panics
/// If the groups do not divide the channels, an image not the numbers, `factors` has another length, or there are not as many
/// weights and biases as channels.
pub fn group_factors(factors: &mut [f32], x: &[f32], shape: Groups, affine: Affine<'_>) {
    group_factors_at(Level::detect(), factors, x, shape, affine);
}

pub(super) fn group_factors_at(level: Level, factors: &mut [f32], x: &[f32], shape: Groups, affine: Affine<'_>) {
    let Groups { channels, groups, area, channels_last, pairs } = shape;
    if x.is_empty() {
        return;
    }
    assert!(groups > 0 && channels.is_multiple_of(groups), "{groups} groups do not divide {channels} channels");
    assert!(!pairs || channels_last && channels.is_multiple_of(2), "{channels} channels of a pixel are no pairs");
    let pixel = if pairs { channels / 2 } else { channels };
    assert!(x.len().is_multiple_of(pixel * area), "images of {channels} by {area} do not divide {}", x.len());
    let images = x.len() / (pixel * area);
    assert_eq!(factors.len(), 2 * images * channels, "there are two factors for each channel of each image");
    affine.check(channels);
    let each = channels / groups;
    let (scales, shifts) = factors.split_at_mut(images * channels);
    let (scales, shifts) = (Shared(scales.as_mut_ptr()), Shared(shifts.as_mut_ptr()));
    let write = |image: usize, group: usize, mean: f64, scale: f64| {
        for channel in group * each..(group + 1) * each {
            let (scale, shift) = affine.of_channel(channel, mean, scale);
            // SAFETY: there is a place for each channel of each image, and each group is written once.
            unsafe {
                *scales.at(image * channels + channel) = scale;
                *shifts.at(image * channels + channel) = shift;
            }
        }
    };
    if !channels_last {
        return tasks(images * groups, each * area, 4 * x.len(), |group, stop| {
            for group in group..stop {
                let x = &x[group * each * area..(group + 1) * each * area];
                let (mean, scale) = dispatch(level, Contiguous { x, eps: affine.eps });
                write(group / groups, group % groups, f64::from(mean), f64::from(scale));
            }
        });
    }
    // For each band of pixels the means and the squares of the differences from them, of each channel.
    let most = rows_of(BAND, channels);
    let bands = area.div_ceil(most);
    scratch(2 * images * bands * channels, |moments| {
        let place = Shared(moments.as_mut_ptr());
        for_each(images * bands, 4 * x.len(), |task| {
            let (image, band) = (task / bands, task % bands);
            let pixels = image * area + band * most..image * area + area.min((band + 1) * most);
            let (x, count) = (x[pixels.start * pixel..pixels.end * pixel].as_ptr(), pixels.len());
            let means = place.at(2 * task * channels);
            let squares = means.wrapping_add(channels);
            match pairs {
                true => dispatch(level, Band { x: x.cast::<u16>(), pixels: count, channels, means, squares }),
                false => dispatch(level, Band { x, pixels: count, channels, means, squares }),
            }
        });
        for (image, moments) in moments.chunks_exact(2 * bands * channels).enumerate() {
            for group in 0..groups {
                let range = group * each..(group + 1) * each;
                let (mean, scale) = joined(moments, channels, range, [most, area], affine.eps);
                write(image, group, mean, scale);
            }
        }
    });
}

/// The mean and one over the deviation of some channels, of the moments of bands of at most so many of all pixels.
fn joined(moments: &[f32], channels: usize, group: Range<usize>, [most, area]: [usize; 2], eps: f32) -> (f64, f64) {
    let bands = || {
        moments.chunks_exact(2 * channels).enumerate().map(|(band, moments)| {
            let (means, squares) = moments.split_at(channels);
            (most.min(area - band * most) as f64, &means[group.clone()], &squares[group.clone()])
        })
    };
    let count = (area * group.len()) as f64;
    let sum: f64 =
        bands().map(|(pixels, means, _)| pixels * means.iter().map(|mean| f64::from(*mean)).sum::<f64>()).sum();
    let mean = sum / count;
    let squares: f64 = bands()
        .map(|(pixels, means, squares)| {
            let apart: f64 = means.iter().map(|own| (f64::from(*own) - mean).powi(2)).sum();
            pixels * apart + squares.iter().map(|square| f64::from(*square)).sum::<f64>()
        })
        .sum();
    (mean, 1.0 / (squares / count + f64::from(eps)).sqrt())
}

/// A number as it lies in memory.
trait Number: Copy {
    /// Reads a vector, or as many of its elements as there are.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load<V: Single>(from: *const Self, count: usize) -> V;
}

impl Number for f32 {
    #[inline(always)]
    unsafe fn load<V: Single>(from: *const Self, count: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe { load(from, count) }
    }
}

/// Of bf16.
impl Number for u16 {
    #[inline(always)]
    unsafe fn load<V: Single>(from: *const Self, count: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe { if count >= V::LANES { V::load_bf16(from) } else { V::load_bf16_first(from, count) } }
    }
}

/// The moments of each channel of some pixels, which are there.
struct Band<N> {
    x: *const N,
    pixels: usize,
    channels: usize,
    /// Places for each channel.
    means: *mut f32,
    squares: *mut f32,
}

impl<N: Number> Kernel for Band<N> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Band { x, pixels, channels, means, squares } = self;
        let most = rows_of(BLOCK, channels);
        for first in (0..pixels).step_by(most) {
            let count = most.min(pixels - first);
            // What those before and these have of the sum, and what their distance has of the squares (Chan et al., 1979).
            let all = (first + count) as f32;
            let before = (first > 0).then_some((count as f32 / all, first as f32 * (count as f32 / all)));
            let mut channel = 0;
            while channel < channels {
                let block = Block { from: x.wrapping_add(first * channels + channel), channels, pixels: count };
                let places = (means.wrapping_add(channel), squares.wrapping_add(channel));
                // SAFETY: the pixels have so many channels from this one on, and there is a place for each.
                unsafe {
                    if channel + SIDES * V::LANES <= channels {
                        block.join::<V, SIDES>(V::LANES, places, before);
                        channel += SIDES * V::LANES;
                    } else {
                        block.join::<V, 1>(V::LANES.min(channels - channel), places, before);
                        channel += V::LANES;
                    }
                }
            }
        }
    }
}

/// Some channels of a few pixels.
#[derive(Clone, Copy)]
struct Block<N> {
    from: *const N,
    /// The numbers from one pixel to the next.
    channels: usize,
    pixels: usize,
}

impl<N: Number> Block<N> {
    /// Finds the means of some vectors of channels, and the sums of the squares of what differs from them, and joins them with those of
    /// the pixels before, if there are any.
    ///
    /// # Safety
    /// The pixels and the places must have these vectors' channels, of the last one so many `lanes`.
    #[inline(always)]
    unsafe fn join<V: Single, const VECTORS: usize>(
        self,
        lanes: usize,
        (means, squares): (*mut f32, *mut f32),
        before: Option<(f32, f32)>,
    ) {
        let (mut sums, mut apart) = ([V::zero(); VECTORS], [V::zero(); VECTORS]);
        // SAFETY: the caller's promise.
        unsafe {
            for pixel in 0..self.pixels {
                let from = self.from.wrapping_add(pixel * self.channels);
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = *sum + N::load::<V>(from.wrapping_add(v * V::LANES), lanes);
                }
            }
            let count = V::splat(1.0 / self.pixels as f32);
            for sum in &mut sums {
                *sum = *sum * count;
            }
            for pixel in 0..self.pixels {
                let from = self.from.wrapping_add(pixel * self.channels);
                for (v, square) in apart.iter_mut().enumerate() {
                    let x = N::load::<V>(from.wrapping_add(v * V::LANES), lanes) - sums[v];
                    *square = x.mul_add(x, *square);
                }
            }
            for v in 0..VECTORS {
                let (means, squares) = (means.wrapping_add(v * V::LANES), squares.wrapping_add(v * V::LANES));
                let (mut mean, mut square) = (sums[v], apart[v]);
                if let Some((share, distance)) = before {
                    let before = load::<V>(means, lanes);
                    let apart = mean - before;
                    mean = apart.mul_add(V::splat(share), before);
                    square = (apart * apart).mul_add(V::splat(distance), square + load::<V>(squares, lanes));
                }
                store(mean, means, lanes);
                store(square, squares, lanes);
            }
        }
    }
}

/// The mean and one over the deviation of numbers side by side.
struct Contiguous<'a> {
    x: &'a [f32],
    eps: f32,
}

impl Kernel for Contiguous<'_> {
    type Elem = f32;
    type Output = (f32, f32);

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) -> (f32, f32) {
        let at = Pointers { out: null_mut(), x: self.x.as_ptr(), residual: None, sum: None };
        // SAFETY: there are so many numbers, and nothing is written where there is one operand.
        unsafe { moments::<V>(at, self.x.len(), self.eps, true) }
    }
}

/// Some groups of a group norm.
struct Normalised<'a> {
    at: Pointers,
    area: usize,
    /// The channels of a group.
    channels: usize,
    /// The groups of an image.
    groups: usize,
    group: usize,
    stop: usize,
    affine: Affine<'a>,
}

impl Kernel for Normalised<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let len = self.channels * self.area;
        for group in self.group..self.stop {
            let at = self.at.at(group * len);
            // SAFETY: the operands hold `len` elements a group, and no other task writes these groups.
            let (mean, scale) = unsafe { moments::<V>(at, len, self.affine.eps, true) };
            for i in 0..self.channels {
                let channel = group % self.groups * self.channels + i;
                let (scale, shift) = self.affine.of_channel(channel, f64::from(mean), f64::from(scale));
                let (scale, shift) = (V::splat(scale), V::splat(shift));
                let (from, to) = (at.again().wrapping_add(i * self.area), at.out.wrapping_add(i * self.area));
                for_vectors!(V, self.area, |j, count, _part| {
                    // SAFETY: as above.
                    unsafe {
                        let x = load::<V>(from.wrapping_add(j), count);
                        store(x.mul_add(scale, shift), to.wrapping_add(j), count);
                    }
                });
            }
        }
    }
}
