//! Pooling of images with the channels last.

mod lines;

use self::lines::Lines;
use super::images::Images;
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

    /// Whether images may be given and written as words of numbers that are rounded so. The largest of what is rounded is what the largest
    /// is rounded to; means of pairs are summed up in f32.
    pub fn takes_words(&self, rounded: Rounded) -> bool {
        self.takes_words_at(Level::detect(), rounded)
    }

    pub(super) fn takes_words_at(&self, level: Level, rounded: Rounded) -> bool {
        let is_known = self.divisor.is_none() || rounded == Rounded::Pairs;
        is_known && rounded.is_fast(level) && self.shape.channels.is_multiple_of(rounded.numbers())
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
            let Images { data, batch, size, .. } = *images;
            let [_, _, pixel, _] = images.strides(channels);
            let written = words.output.filter(|_| words.input.is_none());
            let (shape, divisor, rounded) = (PoolShape { channels, ..self.shape }, self.divisor, words.input);
            Lines { shape, divisor, data, batch, size, pixel, rounded, written }.run(level, out, stride);
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

    /// As [`Pool::takes_words`], but no means: what comes of places would be rounded too.
    pub fn takes_words(&self, rounded: Rounded) -> bool {
        self.frames.divisor.is_none() && self.frames.takes_words(rounded)
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
