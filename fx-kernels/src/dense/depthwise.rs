//! Depthwise convolutions of images and volumes: windows of 3 by 3, larger ones, and all others where they lie.

mod along;
mod copied;
mod lines;

use std::ops::Range;

use super::epilogue::Epilogue;
use super::left::{Left, Windows};
use super::shape::ConvShape;
use super::window::{Reduction, Sliding};
use crate::elementwise::run_rows;
use crate::simd::{Level, Vector};
use crate::threads::{Shared, for_each, shared_out};

/// The most numbers of a vector.
const LANES: usize = 16;
/// The tasks that make a fair share for each of a few threads likely, and the channels of which each has a multiple.
const TASKS: usize = 8;
const CHANNELS: usize = 2 * LANES;
/// The numbers of a part's lines, with those of the image that they are computed from: they stay in the second-level cache.
const CACHED: usize = 128 * 1024;

/// A depthwise convolution.
pub(crate) struct Depthwise<'a> {
    /// The windows.
    pub(crate) windows: Windows<'a>,
    /// The number of images or volumes.
    pub(crate) batch: usize,
    /// The channels.
    pub(crate) channels: usize,
    /// For each tap the weights of all channels.
    pub(crate) weights: &'a [f32],
    /// What is done with the sums.
    pub(crate) epilogue: &'a Epilogue<'a>,
}

impl Depthwise<'_> {
    /// Whether windows of several frames are computed together faster than those of a frame after the other: not where they have more columns, which
    /// these share. Measured: 0.5 to 0.9 of the time for windows of 3 by 3 and of single pixels, 1.9 for 5 by 5.
    pub(crate) fn sees_frames(frame: &ConvShape) -> bool {
        frame.kernel[1] <= lines::WIDTH
    }

    /// Computes all windows, into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn run(&self, level: Level, out: &mut [f32], stride: usize) {
        let Self { windows, channels, weights, epilogue, .. } = *self;
        let left = Left::Windows(windows);
        let rows = self.images() * windows.output[0] * windows.output[1];
        if rows == 0 || channels == 0 {
            return;
        }
        assert!(left.covers(rows, channels), "the images are too short");
        assert!(stride >= channels && (rows - 1) * stride + channels <= out.len(), "the result does not fit");
        assert!(weights.len() >= left.runs() * channels, "there are too few weights");
        epilogue.check(rows, channels);
        let to = Shared(out.as_mut_ptr());
        match windows.kernel {
            [3, 3] if windows.frames.kernel == 1 && !lines::are_better(&windows, channels) => {
                along::run(self, level, &to, stride);
            }
            _ if lines::fits(&windows) => lines::run(self, level, &to, stride),
            _ if copied::fits(&windows) => copied::run(self, level, &to, stride),
            _ => {
                let reduction = Reduction::Weighted(weights);
                Sliding { left, rows, channels, reduction, epilogue, written: None }.run(level, out, stride);
            }
        }
    }

    /// The images of the output, or the frames of all volumes.
    fn images(&self) -> usize {
        self.batch * self.windows.frames.output
    }

    /// The lines of the output, in rows that are `stride` apart, that stay in the cache with what they are computed from.
    fn lines_in_cache(&self, stride: usize) -> usize {
        let Windows { input: [_, before], output: [height, width], pixel, stride: [step, _], frames, .. } =
            self.windows;
        (CACHED / (width * stride + frames.kernel * before * pixel * step)).clamp(1, height)
    }

    /// Calls `f` for the parts of the output with at most so many lines each, in parallel, and applies the function that follows.
    fn for_each_part(&self, level: Level, (out, stride): (&Shared<f32>, usize), lines: usize, f: impl Fn(Part) + Sync) {
        let [height, width] = self.windows.output;
        let groups = height.div_ceil(lines);
        let some =
            self.channels.div_ceil(shared_out(TASKS).div_ceil(self.images() * groups)).next_multiple_of(CHANNELS);
        let parts = self.channels.div_ceil(some);
        for_each(self.images() * groups * parts, self.work(), |task| {
            let (group, first) = (task / parts, task % parts * some);
            let (image, start) = (group / groups, group % groups * lines);
            let lines = start..height.min(start + lines);
            let channels = first..self.channels.min(first + some);
            let (rows, columns) = (lines.len() * width, channels.len());
            f(Part { image, lines, channels });
            if let Some(function) = self.epilogue.function() {
                let to = out.at((image * height + start) * width * stride + first);
                // SAFETY: the lines are in the result (`run` saw it), and no other task has these channels of them.
                unsafe { run_rows(level, function, to, rows, stride, columns) };
            }
        });
    }

    /// The operations on all sums.
    fn work(&self) -> usize {
        let Windows { output: [height, width], .. } = self.windows;
        2 * self.images() * height * width * self.channels * Left::Windows(self.windows).runs()
    }
}

/// Some lines of an image of the output, or of a frame, and some channels.
struct Part {
    image: usize,
    lines: Range<usize>,
    channels: Range<usize>,
}

/// A vector of channels: the first, and how many there are. All that a vector has, unless it is a part.
struct Lane<const PART: bool> {
    channel: usize,
    count: usize,
}

impl<const PART: bool> Lane<PART> {
    /// The vector's channels of the pixel, or of all else, that begins at a place.
    #[inline(always)]
    fn load<V: Vector<Elem = f32>>(&self, from: *const f32) -> V {
        let from = from.wrapping_add(self.channel);
        // SAFETY: `Depthwise::run` saw that images, weights and all else hold so many channels.
        unsafe { if PART { V::load_first(from, self.count) } else { V::load_at(from) } }
    }

    /// Writes the vector's channels of the pixel that begins at a place.
    #[inline(always)]
    fn store<V: Vector<Elem = f32>>(&self, x: V, to: *mut f32) {
        let to = to.wrapping_add(self.channel);
        // SAFETY: as above, for the result.
        unsafe { if PART { x.store_first(to, self.count) } else { x.store_at(to) } };
    }
}
