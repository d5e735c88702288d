//! Pooling of images with the channels last.

use super::epilogue::Epilogue;
use super::images::{Images, Layout};
use super::left::{Axis, Windows};
use super::window::{Reduction, Sliding};
use super::words::Words;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::Level;

/// The windows of a pooling layer.
///
/// Where a window reaches beyond the image, it covers nothing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolShape {
    /// The channels.
    pub channels: usize,
    /// The height and width of the window.
    pub kernel: [usize; 2],
    /// The steps of the window.
    pub stride: [usize; 2],
    /// The distances between the window's taps.
    pub dilation: [usize; 2],
    /// The padding above and on the left.
    pub before: [usize; 2],
    /// The padding below and on the right.
    pub after: [usize; 2],
    /// The height and width of the output; a window that is cut off by the end of the padding counts if they say so.
    pub output: [usize; 2],
}

/// What the sum of a window is divided by in average pooling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Divisor {
    /// The number of taps inside the image (`count_include_pad = false`).
    Inside,
    /// The number of taps inside the image and its padding.
    Padded,
    /// A given number (`divisor_override`).
    Fixed(f32),
}

/// A pooling layer, ready to run.
///
/// ```
/// use fx_kernels::dense::{Images, Pool, PoolShape};
///
/// let (one, none) = ([1; 2], [0; 2]);
/// let shape = PoolShape {
///     channels: 1, kernel: [2, 2], stride: [2, 2], dilation: one, before: none, after: none, output: one,
/// };
/// let image = [1.0, 2.0, 3.0, 4.0];
/// let mut out = [0.0];
/// Pool::max(shape).run(&mut out, 1, &Images::pixels(&image, 1, [2, 2], 1));
/// assert_eq!(out, [4.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    shape: PoolShape,
    /// What the mean is divided by, or none for the largest.
    divisor: Option<Divisor>,
}

impl Pool {
    /// The largest number of each window, NaN if there is one: `max_pool2d`.
    pub fn max(shape: PoolShape) -> Self {
        Self { shape, divisor: None }
    }

    /// The mean of each window: `avg_pool2d`.
    pub fn avg(shape: PoolShape, divisor: Divisor) -> Self {
        Self { shape, divisor: Some(divisor) }
    }

    /// Pools images; the output's channels are last, its pixels `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub fn run(&self, out: &mut [f32], stride: usize, images: &Images<'_>) {
        self.run_words(out, stride, images, Words::default());
    }

    /// Whether images of so many channels may be given and written as words of numbers that are rounded so: the largest of what is
    /// rounded is what the largest is rounded to.
    pub fn takes_words(&self, rounded: Rounded) -> bool {
        self.takes_words_at(Level::detect(), rounded)
    }

    pub(super) fn takes_words_at(&self, level: Level, rounded: Rounded) -> bool {
        self.divisor.is_none() && rounded.is_fast(level) && self.shape.channels.is_multiple_of(rounded.numbers())
    }

    /// As [`run`](Self::run), where the result is to be words, or both images and result are; distances are in words then.
    ///
    /// # Panics
    /// If an operand is too short, or it [does not take](Self::takes_words) such words.
    pub fn run_words(&self, out: &mut [f32], stride: usize, images: &Images<'_>, words: Words) {
        self.run_at(Level::detect(), out, stride, images, words);
    }

    /// As [`run_words`](Self::run_words), with instructions of the given level.
    ///
    /// # Panics
    /// As there, or if the processor does not have the level.
    pub(super) fn run_at(&self, level: Level, out: &mut [f32], stride: usize, images: &Images<'_>, words: Words) {
        words.check(words.input == words.output, |_| false, |rounded| self.takes_words_at(level, rounded));
        let channels = words.input_len(self.shape.channels);
        images.with_pixels(channels, 0..images.size[0], |images| {
            let written = words.output_len(self.shape.channels);
            let together = self.shape.together(images, channels, stride == written);
            let shape = self.shape.of_several(together);
            let [height, width] = images.size;
            let images = Images {
                size: [height, width / together],
                layout: Layout::Pixels { distance: together * images.strides(channels)[2] },
                ..*images
            };
            let size = (together * channels, together * stride);
            let Some(rounded) = words.input else {
                let scale = |row: usize| shape.scale(row, images.size, self.divisor);
                let reduction = if self.divisor.is_some() { Reduction::Scaled(&scale) } else { Reduction::Largest };
                let nothing = if self.divisor.is_some() { 0.0 } else { f32::NEG_INFINITY };
                return shape.reduce((level, reduction, words.output), out, size, &images, nothing);
            };
            shape.reduce((level, Reduction::LargestOf(rounded), None), out, size, &images, rounded.least());
        });
    }
}

/// A pooling layer for volumes with the channels last, ready to run: what is at a place of frames beside each other is pooled, then the
/// frames that come of it.
///
/// ```
/// use fx_kernels::dense::{PoolShape, VolumePool};
///
/// let (one, none) = ([1; 2], [0; 2]);
/// let frames = PoolShape {
///     channels: 1, kernel: [1, 2], stride: [1, 2], dilation: one, before: none, after: none, output: one,
/// };
/// let places = PoolShape { kernel: [2, 1], stride: [2, 1], ..frames };
/// let mut out = [0.0];
/// VolumePool::max(frames, places).run(&mut out, &[1.0, 2.0, 3.0, 4.0], 1, [2, 1, 2]);
/// assert_eq!(out, [4.0]);
/// ```
#[derive(Clone, Debug)]
pub struct VolumePool {
    frames: Pool,
    /// Of images whose lines are frames.
    places: Pool,
}

impl VolumePool {
    /// The largest number of each window, of frames and of images whose lines are frames, as are those that come of these: `max_pool3d`.
    pub fn max(frames: PoolShape, places: PoolShape) -> Self {
        Self { frames: Pool::max(frames), places: Pool::max(places) }
    }

    /// The mean of each window: `avg_pool3d`.
    pub fn avg(frames: PoolShape, places: PoolShape, divisor: Divisor) -> Self {
        let once = if let Divisor::Fixed(_) = divisor { Divisor::Fixed(1.0) } else { divisor };
        Self { frames: Pool::avg(frames, once), places: Pool::avg(places, divisor) }
    }

    /// Pools so many volumes of a depth, height and width, without gaps, as the output is.
    ///
    /// # Panics
    /// If an operand is too short.
    pub fn run(&self, out: &mut [f32], data: &[f32], batch: usize, size: [usize; 3]) {
        self.run_words(out, data, batch, size, Words::default());
    }

    /// As [`Pool::takes_words`].
    pub fn takes_words(&self, rounded: Rounded) -> bool {
        self.frames.takes_words(rounded)
    }

    /// As [`run`](Self::run), where the result is to be words, or both volumes and result are.
    ///
    /// # Panics
    /// If an operand is too short, or it [does not take](Self::takes_words) such words.
    pub fn run_words(
        &self,
        out: &mut [f32],
        data: &[f32],
        batch: usize,
        [depth, height, width]: [usize; 3],
        words: Words,
    ) {
        let PoolShape { channels, output, .. } = self.frames.shape;
        let (read, written) = (words.input_len(channels), words.output_len(channels));
        let (pixels, frames) = (height * width, self.places.shape.output[0]);
        let (volume_len, len) = (depth * pixels * read, frames * output[0] * output[1] * written);
        let is_divided = matches!(self.places.divisor, Some(Divisor::Fixed(_)));
        if self.places.shape.kernel[0] == 1 && frames == depth && !is_divided {
            // Frames are as they were.
            let images = Images::pixels(data, batch * depth, [height, width], read);
            return self.frames.run_words(out, written, &images, words);
        }
        // Places are what is read.
        let of_places = Words { output: words.input, ..words };
        // One by one, so that what lies between stays in the cache.
        for volume in 0..batch {
            let (data, out) = (&data[volume * volume_len..][..volume_len], &mut out[volume * len..][..len]);
            scratch(frames * pixels * read, |between| {
                let images = Images::pixels(data, 1, [depth, pixels], read);
                let shape = PoolShape { output: [frames, pixels], ..self.places.shape };
                Pool { shape, ..self.places }.run_words(between, read, &images, of_places);
                self.frames.run_words(out, written, &Images::pixels(between, frames, [height, width], read), words);
            });
        }
    }
}

impl PoolShape {
    /// How many pixels of a line, with so many numbers each, windows that are one pixel wide take together, as if they were channels of one.
    /// Few numbers would not fill a vector.
    fn together(&self, images: &Images<'_>, channels: usize, is_dense: bool) -> usize {
        /// The numbers that are as fast as more.
        const MANY: usize = 256;
        let ([_, width], [_, _, distance, _]) = (images.size, images.strides(channels));
        let is_high = [self.kernel[1], self.stride[1]] == [1; 2] && self.before[1] == 0 && self.output[1] == width;
        let fits = |pixels: &usize| width.is_multiple_of(*pixels);
        let most = if is_high && is_dense && distance == channels { (MANY / channels.max(1)).min(width) } else { 1 };
        (1..=most).rev().find(fits).unwrap_or(1)
    }

    /// The same windows, of so many pixels each.
    fn of_several(self, together: usize) -> Self {
        let [height, width] = self.output;
        Self { channels: together * self.channels, output: [height, width / together], ..self }
    }

    /// Reduces all windows, of so many numbers or words each, into rows at a distance; beyond the images is nothing.
    fn reduce(
        &self,
        (level, reduction, written): (Level, Reduction<'_>, Option<Rounded>),
        out: &mut [f32],
        (channels, stride): (usize, usize),
        images: &Images<'_>,
        nothing: f32,
    ) {
        let Self { kernel, stride: step, dilation, before, output, .. } = *self;
        let ([_, _, pixel, _], frames) = (images.strides(channels), Axis::ONE);
        let (data, input, rows) = (images.data, images.size, images.batch * output[0] * output[1]);
        scratch(channels, |zeros| {
            zeros.fill(nothing);
            let windows = Windows { data, input, pixel, output, kernel, stride: step, dilation, before, zeros, frames };
            windows.with_inside(|left| {
                let epilogue = &Epilogue::default();
                Sliding { left, rows, channels, reduction, epilogue, written }.run(level, out, stride);
            });
        });
    }

    /// What the sum of a window is multiplied by.
    fn scale(&self, row: usize, size: [usize; 2], divisor: Option<Divisor>) -> f32 {
        if let Some(Divisor::Fixed(number)) = divisor {
            return 1.0 / number;
        }
        let place = [row / self.output[1] % self.output[0], row % self.output[1]];
        let counts = [0, 1].map(|i| {
            let first = place[i] * self.stride[i];
            let counted = match divisor {
                Some(Divisor::Inside) => self.before[i]..self.before[i] + size[i],
                _ => 0..self.before[i] + size[i] + self.after[i],
            };
            (0..self.kernel[i]).filter(|tap| counted.contains(&(first + tap * self.dilation[i]))).count()
        });
        1.0 / (counts[0] * counts[1]) as f32
    }
}
