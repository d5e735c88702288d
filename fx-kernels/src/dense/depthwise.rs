//! Depthwise convolutions with windows of 3 by 3, and larger ones.

mod along;
mod copied;

use std::ops::Range;

use super::epilogue::Epilogue;
use super::left::{Left, Windows};
use crate::elementwise::run_rows;
use crate::simd::{Level, Vector};
use crate::threads::{Shared, for_each, shared_out};

/// The most numbers of a vector.
const LANES: usize = 16;
/// The tasks that make a fair share for each of a few threads likely, and the channels of which each has a multiple.
const TASKS: usize = 8;
const CHANNELS: usize = 2 * LANES;

/// A depthwise convolution.
pub(crate) struct Depthwise<'a> {
    /// The windows.
    pub(crate) windows: Windows<'a>,
    /// The number of images.
    pub(crate) batch: usize,
    /// The channels.
    pub(crate) channels: usize,
    /// For each tap the weights of all channels.
    pub(crate) weights: &'a [f32],
    /// What is done with the sums.
    pub(crate) epilogue: &'a Epilogue<'a>,
}

impl Depthwise<'_> {
    /// Whether there is a version for the windows.
    pub(crate) fn fits(windows: &Windows<'_>) -> bool {
        windows.kernel == [3; 2] || copied::fits(windows)
    }

    /// Computes all windows, into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short, or there is no version for the windows.
    pub(crate) fn run(&self, level: Level, out: &mut [f32], stride: usize) {
        let Windows { output: [height, width], kernel, .. } = self.windows;
        let (rows, channels) = (self.batch * height * width, self.channels);
        if rows == 0 || channels == 0 {
            return;
        }
        assert!(Self::fits(&self.windows), "a window of {} by {}", kernel[0], kernel[1]);
        assert!(Left::Windows(self.windows).covers(rows, channels), "the images are too short");
        assert!(stride >= channels && (rows - 1) * stride + channels <= out.len(), "the result does not fit");
        assert!(self.weights.len() >= kernel[0] * kernel[1] * channels, "there are too few weights");
        self.epilogue.check(rows, channels);
        let out = Shared(out.as_mut_ptr());
        if kernel == [3; 2] { along::run(self, level, &out, stride) } else { copied::run(self, level, &out, stride) }
    }

    /// Calls `f` for the parts of the output with at most so many lines each, in parallel, and applies the function that follows.
    fn for_each_part(&self, level: Level, (out, stride): (&Shared<f32>, usize), lines: usize, f: impl Fn(Part) + Sync) {
        let [height, width] = self.windows.output;
        let groups = height.div_ceil(lines);
        let some = self.channels.div_ceil(shared_out(TASKS).div_ceil(self.batch * groups)).next_multiple_of(CHANNELS);
        let parts = self.channels.div_ceil(some);
        for_each(self.batch * groups * parts, self.work(), |task| {
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
        let Windows { output: [height, width], kernel, .. } = self.windows;
        2 * self.batch * height * width * self.channels * kernel[0] * kernel[1]
    }
}

/// Some lines of an image of the output, and some channels.
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
