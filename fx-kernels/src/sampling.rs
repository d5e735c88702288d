//! Images and volumes sampled at the places of a grid.
//!
//! Along each axis a place has some taps, an element and its weight; those of the place are all combinations of them. They are found for a
//! block of places at a time, one axis after the other, and are used for all channels.

use std::ops::{Div, Range, Sub};

use crate::simd::{Element, Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each};

/// The places of a block.
const BLOCK: usize = 64;
/// The blocks of a task.
const TOGETHER: usize = 8;
/// The most taps along an axis, and those of a place that are added up together.
const TAPS: usize = 4;
/// The most axes.
const AXES: usize = 3;
/// The number of an element that is outside, where zeros are.
const OUTSIDE: i32 = -1;
/// A place that counts as all that are farther away.
const FAR: f64 = 1e9;
/// The steepness of cubic interpolation (Keys, 1981), as PyTorch has it.
const STEEPNESS: f64 = -0.75;

/// What lies around an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Zeros.
    Zeros,
    /// The elements at its border.
    Border,
    /// Its reflections.
    Reflection,
}

/// What is at a place between elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The nearest element, the even one of two.
    Nearest,
    /// What lies on a line between two along each axis.
    Linear,
    /// A cubic function of four along each axis.
    Cubic,
}

/// How images are sampled.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// What is at a place.
    pub interpolation: Interpolation,
    /// What lies around an image.
    pub around: Around,
    /// Whether the coordinates -1 and 1 are the middle of the first and the last element, and not where these end.
    pub align_corners: bool,
}

/// A type that images are sampled in.
#[allow(private_bounds, reason = "nobody else can implement it")]
pub trait Sampled: Real {}

impl Sampled for f32 {}
impl Sampled for f64 {}

/// What is computed with places.
trait Real: Element + Sub<Output = Self> + Div<Output = Self> {
    fn of(x: f64) -> Self;
    fn whole(x: i32) -> Self;
    fn abs(self) -> Self;
    fn trunc(self) -> Self;
    fn round(self) -> Self;
    /// Samples blocks: those of the usual type with instructions of a level.
    fn sample(level: Level, blocks: Blocks<'_, Self>);
    /// The whole number below one whose size is at most [`FAR`].
    fn below(self) -> i32;

    /// This, unless the other is larger or this is NaN.
    #[inline(always)]
    fn or_above(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// This, unless the other is smaller or this is NaN.
    #[inline(always)]
    fn or_below(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
}

macro_rules! real {
    ($($T:ty: |$level:ident, $blocks:ident| $sample:expr;)+) => { $(
        impl Real for $T {
            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $T
            }
            #[inline(always)]
            fn whole(x: i32) -> Self {
                x as $T
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$T>::abs(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                <$T>::trunc(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                <$T>::round_ties_even(self)
            }
            fn sample($level: Level, $blocks: Blocks<'_, Self>) {
                $sample
            }
            #[inline(always)]
            fn below(self) -> i32 {
                // SAFETY: an `i32` holds such numbers.
                let whole: i32 = unsafe { self.to_int_unchecked() };
                whole - i32::from(whole as $T > self)
            }
        }
    )+ };
}
real! {
    f32: |level, blocks| dispatch(level, blocks);
    f64: |_level, blocks| blocks.sample();
}

/// Samples the channels of images, or of volumes, at places: `out[n][c][p]` is what is at the place `p` of the image `n` in `x[n][c]`, of
/// the given size. A place has a coordinate for each dimension, that of the last dimension first, from -1 to 1 within the image.
///
/// ```
/// use fx_kernels::sampling::{Around, Interpolation, Sampling, grid_sample};
///
/// let sampling = Sampling { interpolation: Interpolation::Linear, around: Around::Zeros, align_corners: true };
/// let mut out = [0.0_f32; 2];
/// grid_sample(&mut out, &[1.0, 2.0, 3.0, 4.0], &[0.0, 0.0, 1.0, -1.0], 1, &[2, 2], sampling);
/// assert_eq!(out, [2.5, 2.0]);
/// ```
///
/// # Panics
/// If there are not two or three dimensions, one has no elements or more than an `i32` counts, or lengths do not fit.
pub fn grid_sample<T: Sampled>(
    out: &mut [T],
    x: &[T],
    grid: &[T],
    channels: usize,
    size: &[usize],
    sampling: Sampling,
) {
    grid_sample_at(Level::detect(), out, x, grid, channels, size, sampling);
}

/// As [`grid_sample`], with instructions of the given level.
fn grid_sample_at<T: Real>(
    level: Level,
    out: &mut [T],
    x: &[T],
    grid: &[T],
    channels: usize,
    size: &[usize],
    sampling: Sampling,
) {
    let (axes, area) = (size.len(), size.iter().product::<usize>());
    assert!((2..=AXES).contains(&axes), "images have two or three dimensions, not {axes}");
    assert!(area > 0 && i32::try_from(area).is_ok(), "an image of {size:?}");
    if out.is_empty() {
        return;
    }
    let images = x.len() / (channels * area);
    let places = grid.len() / (images * axes);
    assert!(
        x.len() == images * channels * area && grid.len() == images * places * axes,
        "{} elements and {} coordinates are not those of images of {size:?} with {channels} channels",
        x.len(),
        grid.len(),
    );
    assert_eq!(out.len(), images * channels * places, "the elements of the result");
    let blocks = places.div_ceil(BLOCK);
    let taps = sampling.interpolation.taps().pow(axes as u32);
    let (count, work) = (images * blocks, 2 * out.len() * taps);
    let images = Images { sampling, size, x, area, channels, grid, out: Shared(out.as_mut_ptr()), places };
    for_each(count.div_ceil(TOGETHER), work, |task| {
        let blocks = task * TOGETHER..count.min((task + 1) * TOGETHER);
        T::sample(level, Blocks { images: &images, blocks });
    });
}

impl Interpolation {
    /// The taps along an axis.
    fn taps(self) -> usize {
        match self {
            Self::Nearest => 1,
            Self::Linear => 2,
            Self::Cubic => TAPS,
        }
    }
}

/// What is sampled, and where.
struct Images<'a, T> {
    sampling: Sampling,
    size: &'a [usize],
    /// The elements of all images, so many of each channel.
    x: &'a [T],
    area: usize,
    channels: usize,
    /// The coordinates, of so many places in each image.
    grid: &'a [T],
    places: usize,
    out: Shared<T>,
}

/// Some blocks of places, counted through all images.
struct Blocks<'a, T> {
    images: &'a Images<'a, T>,
    blocks: Range<usize>,
}

/// For each place of a block the number of an element and its weight.
struct Tap<T> {
    element: [i32; BLOCK],
    weight: [T; BLOCK],
}

impl Kernel for Blocks<'_, f32> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        self.sample();
    }
}

impl<T: Real> Blocks<'_, T> {
    #[inline(always)]
    fn sample(self) {
        let Images { sampling, size, x, area, channels, grid, places, ref out } = *self.images;
        let (axes, blocks) = (size.len(), places.div_ceil(BLOCK));
        let mut along: [[Tap<T>; TAPS]; AXES] = std::array::from_fn(|_| none());
        let mut together = none();
        let count = sampling.interpolation.taps().pow(axes as u32);
        for block in self.blocks {
            let (image, first) = (block / blocks, block % blocks * BLOCK);
            let here = BLOCK.min(places - first);
            let grid = &grid[(image * places + first) * axes..][..here * axes];
            let x = &x[image * channels * area..][..channels * area];
            let coordinates = if axes == 2 { apart::<T, 2>(grid) } else { apart::<T, AXES>(grid) };
            for (axis, taps) in along[..axes].iter_mut().enumerate() {
                sampling.find(coordinates[axes - 1 - axis], size[axis], taps);
            }
            let to = Rows { first: out.at(image * channels * places + first), distance: places, count: here };
            for first in (0..count).step_by(TAPS) {
                let some = TAPS.min(count - first);
                for (number, tap) in (first..first + some).zip(&mut together) {
                    sampling.combine(&along[..axes], size, number, tap);
                }
                if count == 1 {
                    to.add_up::<1>(x, area, &together, false);
                } else {
                    to.add_up::<TAPS>(x, area, &together, first > 0);
                }
            }
        }
    }
}

/// Taps of which nothing is known yet.
#[inline(always)]
fn none<T: Real>() -> [Tap<T>; TAPS] {
    std::array::from_fn(|_| Tap { element: [0; BLOCK], weight: [T::ZERO; BLOCK] })
}

/// The coordinates of places one after the other, of so many axes.
#[inline(always)]
fn apart<T: Real, const COUNT: usize>(grid: &[T]) -> [[T; BLOCK]; AXES] {
    let mut all = [[T::ZERO; BLOCK]; AXES];
    for (p, place) in grid.as_chunks::<COUNT>().0.iter().enumerate().take(BLOCK) {
        for axis in 0..COUNT {
            all[axis][p] = place[axis];
        }
    }
    all
}

impl Sampling {
    /// Finds the taps of places along an axis.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become vectors")]
    fn find<T: Real>(self, mut places: [T; BLOCK], size: usize, taps: &mut [Tap<T>; TAPS]) {
        let one = T::of(1.0);
        let (factor, less) = match self.align_corners {
            true => (T::of((size as f64 - 1.0) / 2.0), T::ZERO),
            false => (T::of(size as f64 / 2.0), T::of(0.5)),
        };
        for p in 0..BLOCK {
            places[p] = (places[p] + one) * factor - less;
        }
        if self.interpolation != Interpolation::Cubic {
            self.put_within(&mut places, size);
        }
        let (mut low, mut part) = ([0; BLOCK], [T::ZERO; BLOCK]);
        for p in 0..BLOCK {
            // All that is beyond is far from the image, and between two elements no more.
            let near = places[p].or_above(T::of(-FAR)).or_below(T::of(FAR));
            let place = if self.interpolation == Interpolation::Nearest { near.round() } else { near };
            low[p] = place.below();
            part[p] = if near == places[p] { near - T::whole(low[p]) } else { T::ZERO * places[p] };
        }
        match self.interpolation {
            Interpolation::Nearest => {
                taps[0].put(&low, 0, size);
                taps[0].weight = [one; BLOCK];
            }
            Interpolation::Linear => {
                let [a, b, ..] = taps;
                a.put(&low, 0, size);
                b.put(&low, 1, size);
                for p in 0..BLOCK {
                    (a.weight[p], b.weight[p]) = (one - part[p], part[p]);
                }
            }
            Interpolation::Cubic => {
                for (step, tap) in taps.iter_mut().enumerate() {
                    for p in 0..BLOCK {
                        places[p] = T::whole(low[p] + step as i32 - 1);
                    }
                    self.put_within(&mut places, size);
                    let mut element = [0; BLOCK];
                    for p in 0..BLOCK {
                        element[p] = places[p].below();
                    }
                    tap.put(&element, 0, size);
                }
                let [a, b, c, d] = taps;
                for p in 0..BLOCK {
                    (a.weight[p], b.weight[p]) = (far(part[p] + one), between(part[p]));
                    (c.weight[p], d.weight[p]) = (between(one - part[p]), far(one - part[p] + one));
                }
            }
        }
    }

    /// Moves places to such within so many elements, unless zeros lie around them. NaN becomes the first one.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become vectors")]
    fn put_within<T: Real>(self, places: &mut [T; BLOCK], size: usize) {
        if self.around == Around::Zeros {
            return;
        }
        if self.around == Around::Reflection {
            let (low, span) = if self.align_corners { (0.0, size - 1) } else { (-0.5, size) };
            let (low, twice) = (T::of(low), T::of(2.0 * span as f64));
            for p in 0..BLOCK {
                let distance = (places[p] - low).abs();
                let rest = distance - (distance / twice).trunc() * twice;
                // Of a single element there is no other: 0 by 0 is NaN.
                places[p] = rest.or_below(twice - rest) + low;
            }
        }
        let last = T::of(size as f64 - 1.0);
        for p in 0..BLOCK {
            places[p] = places[p].or_above(T::ZERO).or_below(last);
        }
    }

    /// The combination of taps along the axes that has a number: the last axis goes through its taps first.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become vectors")]
    fn combine<T: Real>(self, along: &[[Tap<T>; TAPS]], size: &[usize], number: usize, to: &mut Tap<T>) {
        let each = self.interpolation.taps();
        let (mut rest, mut distance) = (number, 1);
        for (axis, (taps, size)) in along.iter().zip(size).enumerate().rev() {
            let tap = &taps[rest % each];
            if axis + 1 == along.len() {
                (to.element, to.weight) = (tap.element, tap.weight);
            } else {
                for p in 0..BLOCK {
                    let there = to.element[p] + tap.element[p].wrapping_mul(distance);
                    to.element[p] = if tap.element[p] < 0 || to.element[p] < 0 { OUTSIDE } else { there };
                    to.weight[p] = tap.weight[p] * to.weight[p];
                }
            }
            rest /= each;
            distance = distance.wrapping_mul(*size as i32);
        }
    }
}

impl<T: Real> Tap<T> {
    /// Elements that are so far beyond others, of as many as there are.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become vectors")]
    fn put(&mut self, low: &[i32; BLOCK], step: i32, size: usize) {
        for p in 0..BLOCK {
            let element = low[p] + step;
            self.element[p] = if element < 0 || element >= size as i32 { OUTSIDE } else { element };
        }
    }
}

/// Where some places are written: a row for each channel.
struct Rows<T> {
    first: *mut T,
    distance: usize,
    count: usize,
}

impl<T: Real> Rows<T> {
    /// Writes the sums of some taps of all places in each channel of so many elements, or adds them to what is there.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become vectors")]
    fn add_up<const COUNT: usize>(&self, x: &[T], area: usize, taps: &[Tap<T>; TAPS], adds: bool) {
        for (channel, x) in x.chunks_exact(area).enumerate() {
            let mut sums = [T::ZERO; BLOCK];
            for p in 0..BLOCK {
                for tap in 0..COUNT {
                    let element = taps[tap].element[p];
                    // SAFETY: an element that is not outside is one of the channel's.
                    let value = unsafe { *x.get_unchecked(element.max(0) as usize) };
                    let value = if element < 0 { T::ZERO } else { value };
                    sums[p] = sums[p] + value * taps[tap].weight[p];
                }
            }
            // SAFETY: the result has these places in each channel, and nobody else has them.
            let to = unsafe { std::slice::from_raw_parts_mut(self.first.add(channel * self.distance), self.count) };
            if adds {
                to.iter_mut().zip(sums).for_each(|(to, sum)| *to = *to + sum);
            } else {
                to.copy_from_slice(&sums[..self.count]);
            }
        }
    }
}

/// The weight of an element at a distance of at most 1.
#[inline(always)]
fn between<T: Real>(x: T) -> T {
    (T::of(STEEPNESS + 2.0) * x - T::of(STEEPNESS + 3.0)) * x * x + T::of(1.0)
}

/// The weight of an element at a distance between 1 and 2.
#[inline(always)]
fn far<T: Real>(x: T) -> T {
    let a = T::of(STEEPNESS);
    ((a * x - T::of(5.0) * a) * x + T::of(8.0) * a) * x - T::of(4.0) * a
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Interpolation; 3] = [Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic];

    fn numbers(count: usize, seed: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |i| ((i * 7919 + seed * 104_729) % 1009) as f64 / 1009.0)
    }

    fn sampled<T: Real>(level: Level, x: &[T], grid: &[T], size: &[usize], sampling: Sampling) -> Vec<T> {
        let (channels, batch) = (3, 2);
        let places = grid.len() / size.len() / batch;
        let mut out = vec![T::of(0.25); batch * channels * places];
        grid_sample_at(level, &mut out, x, grid, channels, size, sampling);
        out
    }

    /// Also where there are more places than in a block, far outside, at no number, and in images of a single line.
    #[test]
    fn levels_agree_and_doubles_do() {
        for size in [&[5, 7][..], &[1, 4], &[3, 1], &[2, 3, 4], &[1, 1, 1]] {
            let area = size.iter().product::<usize>();
            let x: Vec<f64> = numbers(2 * 3 * area, 1).collect();
            let mut grid: Vec<f64> = numbers(2 * 150 * size.len(), 2).map(|x| 4.0 * x - 2.0).collect();
            grid[..8].copy_from_slice(&[f64::NAN, 0.5, 1e30, -0.25, f64::INFINITY, 0.0, -1e12, 1e3]);
            let [single_x, single_grid] = [&x, &grid].map(|x| x.iter().map(|x| *x as f32).collect::<Vec<_>>());
            for (interpolation, around) in ALL.into_iter().flat_map(|interpolation| {
                [Around::Zeros, Around::Border, Around::Reflection].map(|around| (interpolation, around))
            }) {
                for align_corners in [false, true] {
                    let sampling = Sampling { interpolation, around, align_corners };
                    let want = sampled(Level::Generic, &single_x, &single_grid, size, sampling);
                    let wide = sampled(Level::Generic, &x, &grid, size, sampling);
                    for level in Level::available() {
                        let got = sampled(level, &single_x, &single_grid, size, sampling);
                        let wide_got = sampled(level, &x, &grid, size, sampling);
                        for i in 0..want.len() {
                            let what = format!("{level:?} {size:?} {sampling:?} at {i}");
                            let near = |x: f64, y: f64| (x - y).abs() < 1e-5 || x.is_nan() && y.is_nan();
                            assert!(near(got[i].into(), want[i].into()), "{what}: {} for {}", got[i], want[i]);
                            assert!(near(wide_got[i], wide[i]), "{what}: {} for {}", wide_got[i], wide[i]);
                        }
                    }
                }
            }
        }
    }

    /// What is outside does not depend on any element, not even on one that is infinite.
    #[test]
    fn zeros_lie_around_infinities() {
        let x = [f32::INFINITY, 1.0, 2.0, 3.0];
        for interpolation in ALL {
            let sampling = Sampling { interpolation, around: Around::Zeros, align_corners: false };
            let mut out = [1.0; 2];
            grid_sample(&mut out, &x, &[9.0, 9.0, -7.0, 0.5], 1, &[2, 2], sampling);
            assert_eq!(out, [0.0; 2], "{interpolation:?}");
        }
    }

    /// The middle of each element is the element itself.
    #[test]
    fn middles_are_the_elements() {
        let x: Vec<f32> = numbers(2 * 3 * 4 * 5, 3).map(|x| x as f32).collect();
        let middle = |i: usize, size: usize| (2 * i + 1) as f32 / size as f32 - 1.0;
        let one = (0..4).flat_map(|line| (0..5).flat_map(move |column| [middle(column, 5), middle(line, 4)]));
        let grid: Vec<f32> = one.clone().chain(one).collect();
        for interpolation in ALL {
            let sampling = Sampling { interpolation, around: Around::Border, align_corners: false };
            let got = sampled(Level::detect(), &x, &grid, &[4, 5], sampling);
            assert!(got.iter().zip(&x).all(|(x, y)| (x - y).abs() < 1e-5), "{interpolation:?}");
        }
    }
}
