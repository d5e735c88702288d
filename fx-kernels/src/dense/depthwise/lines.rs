//! Windows over volumes, and over images, where these lie: all channels of a line before the next one, a few neighbours at a time. They share
//! numbers and weights where a window has three columns.

use smallvec::SmallVec;

use super::{Depthwise, LANES, Lane, Part, Windows};
use crate::math;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::Shared;

/// The columns of a window that are known when this is compiled.
pub(super) const WIDTH: usize = 3;
/// The neighbours that are computed together: with AVX-512 there are registers for more, and images often are as wide as a multiple of it.
const NEAR: usize = 4;
const MANY: usize = 7;

/// Whether there is a version for the windows: for all of volumes, and for those of three columns.
pub(super) fn fits(windows: &Windows<'_>) -> bool {
    windows.frames.kernel > 1 || windows.kernel[1] == WIDTH
}

/// Whether windows of 3 by 3 over images are computed faster so than [along](super::along) lines: where pixels are so far apart that they displace
/// each other in the first-level cache, or many channels have short lines. Measured: 0.64 to 0.83 of the time.
pub(super) fn are_better(windows: &Windows<'_>, channels: usize) -> bool {
    /// The distance from which on pixels displace each other, in numbers.
    const COLLIDING: usize = 512;
    /// The columns of short lines, and the channels that are many.
    const SHORT: (usize, usize) = (MANY, 512);
    windows.pixel.is_multiple_of(COLLIDING) || windows.output[1] <= SHORT.0 && channels >= SHORT.1
}

/// Computes all windows.
pub(super) fn run(of: &Depthwise<'_>, level: Level, out: &Shared<f32>, stride: usize) {
    of.for_each_part(level, (out, stride), of.lines_in_cache(stride), |part| {
        dispatch(level, Lines { of, part: &part, out: out.at(0), stride });
    });
}

/// Some lines of the output.
struct Lines<'a> {
    of: &'a Depthwise<'a>,
    part: &'a Part,
    out: *mut f32,
    stride: usize,
}

impl Kernel for Lines<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Part { image, ref lines, ref channels } = *self.part;
        let Windows { output, .. } = self.of.windows;
        for y in lines.clone() {
            let row = (image * output[0] + y) * output[1];
            let line = Line { of: self.of, seen: self.seen(y), row, out: (self.out, self.stride) };
            let count = channels.len() % V::LANES;
            for channel in (channels.start..channels.end - count).step_by(V::LANES) {
                line.all::<V, false>(&Lane { channel, count: V::LANES });
            }
            if count > 0 {
                line.all::<V, true>(&Lane { channel: channels.end - count, count });
            }
        }
    }
}

impl Lines<'_> {
    /// The lines of the image that are under the windows of one, as far as there are, and the weights of their taps.
    #[inline(always)]
    fn seen(&self, y: usize) -> SmallVec<[(*const f32, *const f32); 9]> {
        let Depthwise { windows, channels, weights, .. } = *self.of;
        let Windows { input: [height, width], kernel, stride, dilation, before, data, pixel, frames, .. } = windows;
        let (volume, frame) = (self.part.image / frames.output, self.part.image % frames.output);
        let mut seen = SmallVec::new();
        for depth in 0..frames.kernel {
            let Some(frame) = frames.seen(frame, depth) else { continue };
            for tap in 0..kernel[0] {
                let line = (y * stride[0] + tap * dilation[0]).wrapping_sub(before[0]);
                if line < height {
                    let line = ((volume * frames.input + frame) * height + line) * width * pixel;
                    let taps = (depth * kernel[0] + tap) * kernel[1] * channels;
                    seen.push((data.as_ptr().wrapping_add(line), weights.as_ptr().wrapping_add(taps)));
                }
            }
        }
        seen
    }
}

/// A line of the output.
struct Line<'a> {
    of: &'a Depthwise<'a>,
    /// The lines of the image that are under its windows, and the weights of their taps.
    seen: SmallVec<[(*const f32, *const f32); 9]>,
    /// The number of the line's first row among those of all images.
    row: usize,
    /// The first of all rows, and how far they are apart.
    out: (*mut f32, usize),
}

impl Line<'_> {
    /// A vector of channels along the line.
    #[inline(always)]
    fn all<V: Vector<Elem = f32>, const PART: bool>(&self, lane: &Lane<PART>) {
        let Windows { output: [_, width], kernel, stride, dilation, .. } = self.of.windows;
        // What is computed beyond the end is for nothing; more neighbours share more.
        let are_many = V::LANES == LANES && 10 * width.next_multiple_of(MANY) <= 11 * width.next_multiple_of(NEAR);
        let step = if kernel[1] == WIDTH && dilation[1] == 1 { stride[1] } else { 0 };
        match step {
            1 if are_many => self.blocks::<V, 1, MANY, PART>(lane),
            1 => self.blocks::<V, 1, NEAR, PART>(lane),
            2 if are_many => self.blocks::<V, 2, MANY, PART>(lane),
            2 => self.blocks::<V, 2, NEAR, PART>(lane),
            _ => self.blocks::<V, 0, MANY, PART>(lane),
        }
    }

    /// The same, so many neighbours at a time, a constant step apart if it is not 0.
    #[inline(always)]
    fn blocks<V: Vector<Elem = f32>, const STEP: usize, const COUNT: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
    ) {
        let Depthwise { windows, epilogue, .. } = *self.of;
        let Windows { input: [_, end], output: [_, width], kernel, stride, dilation, before, .. } = windows;
        let bias = if let Some(bias) = epilogue.bias { lane.load(bias.as_ptr()) } else { V::zero() };
        let (adds, (low, high)) = (epilogue.adds(), epilogue.limits());
        let reach = (COUNT - 1) * stride[1] + (kernel[1].max(1) - 1) * dilation[1];
        let (out, distance) = self.out;
        for x in (0..width).step_by(COUNT) {
            let first = (x * stride[1]).wrapping_sub(before[1]);
            let is_inside = first.checked_add(reach).is_some_and(|last| last < end);
            let sums = if is_inside && !PART {
                self.sums::<V, STEP, COUNT, true, PART>(lane, first, bias)
            } else {
                self.sums::<V, STEP, COUNT, false, PART>(lane, first, bias)
            };
            let count = COUNT.min(width - x);
            for (o, mut sum) in sums.into_iter().enumerate() {
                if o < count {
                    let row = self.row + x + o;
                    if adds {
                        let load = |from: *const f32, stride| lane.load(from.wrapping_add(row * stride));
                        sum = epilogue.add(sum, (out, distance), load);
                    }
                    lane.store(math::clamp(sum, low, high), out.wrapping_add(row * distance));
                }
            }
        }
    }

    /// The sums of neighbours, of which the first one's window begins at a column. All that they see is inside, or each column is looked at.
    ///
    /// The loops over constants are unrolled, so that the sums are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn sums<V: Vector<Elem = f32>, const STEP: usize, const COUNT: usize, const INSIDE: bool, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        first: usize,
        bias: V,
    ) -> [V; COUNT] {
        let Depthwise { channels, windows: Windows { input, kernel, stride, dilation, pixel, .. }, .. } = *self.of;
        let mut sums = [[bias, V::zero()]; COUNT];
        for &(line, weights) in &self.seen {
            let line = line.wrapping_add(first.wrapping_mul(pixel));
            if STEP == 0 {
                for j in 0..kernel[1] {
                    let weight: V = lane.load(weights.wrapping_add(j * channels));
                    for o in 0..COUNT {
                        let column = o * stride[1] + j * dilation[1];
                        if INSIDE || first.wrapping_add(column) < input[1] {
                            sums[o][0] = lane.load::<V>(line.wrapping_add(column * pixel)).mul_add(weight, sums[o][0]);
                        }
                    }
                }
                continue;
            }
            let mut kernel = [V::zero(); WIDTH];
            for j in 0..WIDTH {
                kernel[j] = lane.load(weights.wrapping_add(j * channels));
            }
            for column in 0..(COUNT - 1) * STEP + WIDTH {
                if INSIDE || first.wrapping_add(column) < input[1] {
                    let number = lane.load::<V>(line.wrapping_add(column * pixel));
                    // Of a few neighbours each has two sums: products that follow each other go to different ones.
                    let part = if COUNT <= NEAR { column % 2 } else { 0 };
                    for o in 0..COUNT {
                        let j = column.wrapping_sub(o * STEP);
                        if j < WIDTH {
                            sums[o][part] = number.mul_add(kernel[j], sums[o][part]);
                        }
                    }
                }
            }
        }
        let mut all = [bias; COUNT];
        for o in 0..COUNT {
            all[o] = if COUNT <= NEAR { sums[o][0] + sums[o][1] } else { sums[o][0] };
        }
        all
    }
}
