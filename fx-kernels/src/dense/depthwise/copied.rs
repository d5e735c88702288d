//! Windows of a copy of the image.
//!
//! A vector of channels of some lines is copied to where its pixels lie side by side, with the padding around them. There, a few
//! neighbours are computed at a time: they share numbers and weights, and their sums need not wait for each other.

use std::ops::Range;

use super::{Depthwise, LANES, Lane, Part, Windows};
use crate::math;
use crate::memory::scratch;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::Shared;

/// The neighbours that are computed together.
const BLOCK: usize = 4;
/// The sums of each: products that follow each other go to different ones.
const SUMS: usize = 2;
/// The vectors of an image that are copied: they stay in the first-level cache.
const CACHED: usize = 384;
/// The columns of a tile of the output, if there are many.
const COLUMNS: usize = 32;

/// Computes all windows.
pub(super) fn run(of: &Depthwise<'_>, level: Level, out: &Shared<f32>, stride: usize) {
    let Windows { output: [_, width], kernel, .. } = of.windows;
    // Tiles of columns, all but the last of the same width.
    let columns = width.div_ceil(width.div_ceil(COLUMNS)).next_multiple_of(BLOCK);
    let lines = of.lines(columns);
    let memory = (of.copied(lines, columns).iter().product::<usize>() + kernel[0] * kernel[1]) * LANES;
    of.for_each_part(level, (out, stride), lines, |part| {
        scratch(memory, |memory| {
            for first in (0..width).step_by(columns) {
                let columns = first..width.min(first + columns);
                let (part, out) = (&part, out.at(0));
                dispatch(level, Tile { of, part, columns, out, stride, memory });
            }
        });
    });
}

impl Depthwise<'_> {
    /// How many lines of the output are computed together, for so many columns.
    fn lines(&self, columns: usize) -> usize {
        let [one, width] = self.copied(1, columns);
        let more = (CACHED / width).saturating_sub(one) / self.windows.stride[0];
        (1 + more).min(self.windows.output[0])
    }

    /// The lines and columns of an image that so many of the output are computed from.
    fn copied(&self, lines: usize, columns: usize) -> [usize; 2] {
        let Windows { kernel, stride, .. } = self.windows;
        let columns = columns.next_multiple_of(BLOCK);
        [(lines - 1) * stride[0] + kernel[0].max(1), (columns - 1) * stride[1] + kernel[1]]
    }
}

/// Some columns of a part.
struct Tile<'a> {
    of: &'a Depthwise<'a>,
    part: &'a Part,
    columns: Range<usize>,
    out: *mut f32,
    stride: usize,
    /// For what is copied of the image, and the weights.
    memory: &'a mut [f32],
}

impl Kernel for Tile<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Windows { kernel, stride, .. } = self.of.windows;
        match (kernel[1], stride[1]) {
            (5, 1) => self.all::<V, 5, 1>(),
            (5, _) => self.all::<V, 5, 2>(),
            (_, 1) => self.all::<V, 7, 1>(),
            _ => self.all::<V, 7, 2>(),
        }
    }
}

impl Tile<'_> {
    #[inline(always)]
    fn all<V: Vector<Elem = f32>, const WIDTH: usize, const STRIDE: usize>(mut self) {
        let memory = std::mem::take(&mut self.memory);
        let size = self.of.copied(self.part.lines.len(), self.columns.len());
        let (image, weights) = memory.split_at_mut(size[0] * size[1] * V::LANES);
        // What stays is the padding.
        image.fill(0.0);
        for channel in self.part.channels.clone().step_by(V::LANES) {
            let count = V::LANES.min(self.part.channels.end - channel);
            if count == V::LANES {
                self.lane::<V, WIDTH, STRIDE, false>(&Lane { channel, count }, size, image, weights);
            } else {
                self.lane::<V, WIDTH, STRIDE, true>(&Lane { channel, count }, size, image, weights);
            }
        }
    }

    /// A vector of channels, by way of a copy of the image of some height and width.
    #[inline(always)]
    fn lane<V: Vector<Elem = f32>, const WIDTH: usize, const STRIDE: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        [height, width]: [usize; 2],
        image: &mut [f32],
        weights: &mut [f32],
    ) {
        let Depthwise { windows: Windows { output, kernel, stride, .. }, epilogue, .. } = *self.of;
        self.copy::<V, PART>(lane, image, [height, width]);
        self.copy_weights::<V, PART>(lane, weights);
        let ((low, high), adds) = (epilogue.limits(), epilogue.adds());
        let bias = epilogue.bias.map_or(V::zero(), |bias| lane.load(bias.as_ptr()));
        for line in self.part.lines.clone() {
            let first = (line - self.part.lines.start) * stride[0] * width * V::LANES;
            let mut from = image[first..].as_ptr();
            let mut row = (self.part.image * output[0] + line) * output[1] + self.columns.start;
            let mut to = self.out.wrapping_add(row * self.stride);
            let mut left = self.columns.len();
            while left > 0 {
                let taps = Taps { from, weights: weights.as_ptr(), lines: kernel[0], width };
                // SAFETY: the copy has all numbers of the windows, and of as many as fill the last block.
                let sums = unsafe { taps.sums::<V, WIDTH, STRIDE>(bias) };
                let count = left.min(BLOCK);
                for (o, sum) in sums.into_iter().enumerate() {
                    if o < count {
                        let load = |from: *const f32, stride| lane.load(from.wrapping_add((row + o) * stride));
                        let sum = if adds { epilogue.add(sum, (self.out, self.stride), load) } else { sum };
                        lane.store(math::clamp(sum, low, high), to.wrapping_add(o * self.stride));
                    }
                }
                from = from.wrapping_add(BLOCK * STRIDE * V::LANES);
                to = to.wrapping_add(BLOCK * self.stride);
                row += BLOCK;
                left -= count;
            }
        }
    }

    /// Copies a vector of the pixels that are in the image.
    #[inline(always)]
    fn copy<V: Vector<Elem = f32>, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        copy: &mut [f32],
        [height, width]: [usize; 2],
    ) {
        let Windows { data, input, pixel, stride, before, .. } = self.of.windows;
        // Where the copy begins in the image, and which part of it is there.
        let start = [self.part.lines.start * stride[0], self.columns.start * stride[1]];
        let inside = |i: usize, size: usize| {
            let first = before[i].saturating_sub(start[i]).min(size);
            first..size.min((input[i] + before[i]).saturating_sub(start[i])).max(first)
        };
        let columns = inside(1, width);
        for line in inside(0, height) {
            let y = self.part.image * input[0] + start[0] + line - before[0];
            let x = (start[1] + columns.start).wrapping_sub(before[1]);
            let mut from = data.as_ptr().wrapping_add(y.wrapping_mul(input[1]).wrapping_add(x).wrapping_mul(pixel));
            let to = &mut copy[(line * width + columns.start) * V::LANES..(line * width + columns.end) * V::LANES];
            for to in to.chunks_exact_mut(V::LANES) {
                lane.load::<V>(from).store(to);
                from = from.wrapping_add(pixel);
            }
        }
    }

    /// Copies the weights of a vector of channels.
    #[inline(always)]
    fn copy_weights<V: Vector<Elem = f32>, const PART: bool>(&self, lane: &Lane<PART>, copy: &mut [f32]) {
        let Depthwise { windows: Windows { kernel, .. }, channels, weights, .. } = *self.of;
        let taps = weights.chunks_exact(channels).take(kernel[0] * kernel[1]);
        for (tap, to) in taps.zip(copy.chunks_exact_mut(V::LANES)) {
            lane.load::<V>(tap.as_ptr()).store(to);
        }
    }
}

/// What a block of windows is computed from: copies of so many lines of the image, of some width, and of the weights.
struct Taps {
    from: *const f32,
    weights: *const f32,
    lines: usize,
    width: usize,
}

impl Taps {
    /// The sums of a block of windows. The loops over constants are unrolled, so that the sums are registers.
    ///
    /// # Safety
    /// All that is read must be there.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn sums<V: Vector<Elem = f32>, const WIDTH: usize, const STRIDE: usize>(mut self, bias: V) -> [V; BLOCK] {
        let mut sums = [[bias, V::zero()]; BLOCK];
        for _ in 0..self.lines {
            let mut kernel = [V::zero(); WIDTH];
            for j in 0..WIDTH {
                // SAFETY: the caller's promise.
                kernel[j] = unsafe { V::load_at(self.weights.add(j * V::LANES)) };
            }
            for column in 0..(BLOCK - 1) * STRIDE + WIDTH {
                // SAFETY: the caller's promise.
                let number = unsafe { V::load_at(self.from.add(column * V::LANES)) };
                for o in 0..BLOCK {
                    let j = column.wrapping_sub(o * STRIDE);
                    if j < WIDTH {
                        sums[o][j % SUMS] = number.mul_add(kernel[j], sums[o][j % SUMS]);
                    }
                }
            }
            self.from = self.from.wrapping_add(self.width * V::LANES);
            self.weights = self.weights.wrapping_add(WIDTH * V::LANES);
        }
        let mut all = [bias; BLOCK];
        for o in 0..BLOCK {
            all[o] = sums[o][0] + sums[o][1];
        }
        all
    }
}
