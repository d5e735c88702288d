//! Depthwise convolutions of images and volumes: windows of 3 by 3, larger ones, and all others where they lie.

mod along;
mod anywhere;
mod copied;
mod lane;
mod lines;

use std::ops::Range;
use std::sync::OnceLock;

use self::lane::{Finish, Lane, apart};
use super::epilogue::Epilogue;
use super::left::{Left, Windows};
use super::shape::ConvShape;
use super::weight::{Weight, by_tap};

use crate::elementwise::run_rows;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::{Shared, for_each, shared_out};

/// The most numbers of a vector.
const LANES: usize = 16;
/// The tasks that make a fair share for each of a few threads likely, and the channels of which each has a multiple.
const TASKS: usize = 8;
const CHANNELS: usize = 2 * LANES;
/// The numbers of a part's lines, with those of the image that they are computed from: they stay in the second-level cache.
const CACHED: usize = 128 * 1024;

/// The weights of a depthwise convolution: for each tap those of all channels.
#[derive(Debug)]
pub(crate) struct TapWeights {
    numbers: Vec<f32>,
    channels: usize,
    /// The same as they are used with words, once they are.
    apart: OnceLock<Vec<f32>>,
}

impl TapWeights {
    /// Those of a weight with so many channels, each with a row of so many taps.
    pub(crate) fn new(weight: Weight<'_>, channels: usize, taps: usize) -> Self {
        let numbers = weight.with_rows(0..channels, taps, |numbers| by_tap(numbers, channels).collect());
        Self { numbers, channels, apart: OnceLock::new() }
    }

    /// What they take as they are packed, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.numbers.as_slice())
    }

    /// In the order for pixels that are words of two bf16, or are not.
    pub(crate) fn of(&self, pairs: bool) -> &[f32] {
        if pairs { self.apart.get_or_init(|| apart(&self.numbers, self.channels)) } else { &self.numbers }
    }
}

/// A depthwise convolution.
pub(crate) struct Depthwise<'a> {
    /// The windows.
    pub(crate) windows: Windows<'a>,
    /// The number of images or volumes.
    pub(crate) batch: usize,
    /// The channels: an even number where they are kept in words.
    pub(crate) channels: usize,
    /// For each tap the weights of all channels, [for such pixels](TapWeights::of).
    pub(crate) weights: &'a [f32],
    /// What is done with the sums.
    pub(crate) epilogue: &'a Epilogue<'a>,
    /// Whether pixels are words of two bf16.
    pub(crate) reads_pairs: bool,
    /// Whether those of the result are to be such.
    pub(crate) writes_pairs: bool,
}

impl Depthwise<'_> {
    /// Whether windows of several frames are computed together faster than those of a frame after the other: not where they have more columns, which
    /// these share. Measured: 0.5 to 0.9 of the time for windows of 3 by 3 and of single pixels, 1.9 for 5 by 5.
    pub(crate) fn sees_frames(frame: &ConvShape) -> bool {
        frame.kernel[1] <= lines::WIDTH
    }

    /// Whether so many channels may be words of what is rounded so.
    pub(crate) fn has_words(level: Level, rounded: Rounded, channels: usize) -> bool {
        rounded == Rounded::Pairs && rounded.is_fast(level) && channels.is_multiple_of(rounded.numbers())
    }

    /// Computes all windows, into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn run(&self, level: Level, out: &mut [f32], stride: usize) {
        let Self { windows, channels, weights, epilogue, .. } = *self;
        let left = Left::Windows(windows);
        let rows = self.rows();
        if rows == 0 || channels == 0 {
            return;
        }
        let [read, written] =
            [self.reads_pairs, self.writes_pairs].map(|pairs| if pairs { channels / 2 } else { channels });
        assert!(left.covers(rows, read), "the images are too short");
        assert!(stride >= written && (rows - 1) * stride + written <= out.len(), "the result does not fit");
        assert!(weights.len() >= left.runs() * channels, "there are too few weights");
        assert!(!(self.writes_pairs && epilogue.accumulate), "nothing is added to words at the result's place");
        epilogue.check(rows, channels);
        let to = Shared(out.as_mut_ptr());
        match windows.kernel {
            // There is a version of these for words of all windows.
            _ if self.reads_pairs && (lines::fits(&windows) || !copied::fits(&windows)) => {
                lines::run(self, level, &to, stride);
            }
            _ if level == Level::Sse2 => anywhere::run(self, level, &to, stride),
            [3, 3] if windows.frames.kernel == 1 && !lines::are_better(&windows, channels) => {
                along::run(self, level, &to, stride);
            }
            _ if lines::fits(&windows) => lines::run(self, level, &to, stride),
            _ if copied::fits(&windows) => copied::run(self, level, &to, stride),
            _ => anywhere::run(self, level, &to, stride),
        }
    }

    /// The images of the output, or the frames of all volumes.
    fn images(&self) -> usize {
        self.batch * self.windows.frames.output
    }

    /// The pixels of all of them.
    fn rows(&self) -> usize {
        self.images() * self.windows.output.iter().product::<usize>()
    }

    /// The lines of the output, in rows that are `stride` apart, that stay in the cache with what they are computed from.
    fn lines_in_cache(&self, stride: usize) -> usize {
        let Windows { input: [_, before], output: [height, width], pixel, stride: [step, _], frames, .. } =
            self.windows;
        (CACHED / (width * stride + frames.kernel * before * pixel * step)).clamp(1, height)
    }

    /// Calls `f` for the parts of the output with at most so many lines each, in parallel, and where their sums go; and does what else follows.
    fn for_each_part(
        &self,
        level: Level,
        (out, stride): (&Shared<f32>, usize),
        lines: usize,
        f: impl Fn(Part, Target) + Sync,
    ) {
        let [height, width] = self.windows.output;
        let (groups, frames) = (height.div_ceil(lines), self.windows.frames.output);
        let some =
            self.channels.div_ceil(shared_out(TASKS).div_ceil(self.images() * groups)).next_multiple_of(CHANNELS);
        let parts = self.channels.div_ceil(some);
        let are_words = self.reads_pairs && self.writes_pairs;
        let function = self.epilogue.function().filter(|function| !Finish::has(*function, are_words));
        // Only sums of words are words at once, if nothing follows.
        let is_rounded_after = self.writes_pairs && (!self.reads_pairs || function.is_some());
        for_each(self.images() * groups * parts, self.work(), |task| {
            // A volume's frames one after the other for some lines: what they see together is in the cache.
            let (place, first) = (task / parts, task % parts * some);
            let (place, frame) = (place / frames, place % frames);
            let (image, start) = (place / groups * frames + frame, place % groups * lines);
            let lines = start..height.min(start + lines);
            let channels = first..self.channels.min(first + some);
            let (row, size) = ((image * height + start) * width, [lines.len() * width, channels.len()]);
            let part = Part { image, lines, channels };
            let follow = |to: *mut f32, stride: usize| {
                if let Some(function) = function {
                    // SAFETY: the lines are in the result (`run` saw it), or in memory of their own, and no other task has these channels of them.
                    unsafe { run_rows(level, function, to, size[0], stride, size[1]) };
                }
            };
            if !is_rounded_after {
                f(part, Target { first: out.at(0), stride, is_words: self.writes_pairs });
                return follow(out.at(row * stride + first), stride);
            }
            scratch(size[0] * size[1], |numbers| {
                let own = numbers.as_mut_ptr();
                f(part, Target { first: own.wrapping_sub(row * size[1] + first), stride: size[1], is_words: false });
                follow(own, size[1]);
                // SAFETY: as above; channels are whole words.
                unsafe {
                    Rounded::Pairs.write(level, (out.at(row * stride + first / 2), stride), (own, size[1]), size)
                };
            });
        });
    }

    /// The operations on all sums.
    fn work(&self) -> usize {
        2 * self.rows() * self.channels * Left::Windows(self.windows).runs()
    }
}

/// Some lines of an image of the output, or of a frame, and some channels.
struct Part {
    image: usize,
    lines: Range<usize>,
    channels: Range<usize>,
}

/// Where sums are written.
#[derive(Clone, Copy)]
struct Target {
    /// The first of all rows, as seen from those of a part.
    first: *mut f32,
    /// How far rows are apart.
    stride: usize,
    /// Whether they are words of two bf16.
    is_words: bool,
}
