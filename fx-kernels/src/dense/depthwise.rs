//! Depthwise convolutions with windows of 3 by 3, and of 5 and 7 columns.

mod along;
mod copied;

use super::epilogue::Epilogue;
use super::left::{Left, Windows};
use crate::simd::{Level, Vector};
use crate::threads::Shared;

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
        let Windows { kernel, stride, dilation, .. } = windows;
        *kernel == [3; 2] || matches!(kernel[1], 5 | 7) && matches!(stride[1], 1 | 2) && *dilation == [1; 2]
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

    /// The operations on all sums.
    fn work(&self) -> usize {
        let Windows { output: [height, width], kernel, .. } = self.windows;
        2 * self.batch * height * width * self.channels * kernel[0] * kernel[1]
    }
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
