//! Windows over volumes, and over images, where these lie: all channels of a line before the next one, a few neighbours at a time. They share
//! numbers and weights where a window has three columns.

use std::ops::Range;

use smallvec::SmallVec;

use super::lane::{ByLanes, Finish, Halves, Kept, Singles, Widened};
use super::{Depthwise, LANES, Lane, Part, Target, Windows};
use crate::simd::{Kernel, Level, PairKernel, Pairs, Vector, dispatch, dispatch_pairs};
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
    of.for_each_part(level, (out, stride), of.lines_in_cache(stride), |part, to| {
        let lines = Lines { of, part: &part, to };
        if of.reads_pairs { dispatch_pairs(lines) } else { dispatch(level, lines) }
    });
}

/// Some lines of the output.
struct Lines<'a> {
    of: &'a Depthwise<'a>,
    part: &'a Part,
    to: Target,
}

impl Kernel for Lines<'_> {
    type Elem = f32;
    type Output = ();
    const LEAST: Level = Level::Avx2;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Range { start, end } = self.part.channels;
        for y in self.part.lines.clone() {
            let line = self.line(y);
            let count = (end - start) % V::LANES;
            for channel in (start..end - count).step_by(V::LANES) {
                line.along::<V, Singles, 1, false>(&Lane { channel, count: V::LANES });
            }
            if count > 0 {
                line.along::<V, Singles, 1, true>(&Lane { channel: end - count, count });
            }
        }
    }
}

impl PairKernel for Lines<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        let Range { start, end } = self.part.channels;
        for y in self.part.lines.clone() {
            self.line(y).all::<V>([start, end]);
        }
    }
}

impl Lines<'_> {
    /// A line of the output.
    #[inline(always)]
    fn line(&self, y: usize) -> Line<'_> {
        let [height, width] = self.of.windows.output;
        Line { of: self.of, seen: self.seen(y), row: (self.part.image * height + y) * width, to: &self.to }
    }

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
    to: &'a Target,
}

impl ByLanes for Line<'_> {
    #[inline(always)]
    fn two<V: Pairs, const PART: bool>(&mut self, lane: &Lane<PART>) {
        self.along::<V, Halves, 2, PART>(lane);
    }
    #[inline(always)]
    fn one<V: Pairs>(&mut self, lane: &Lane<false>) {
        self.along::<V, Widened, 1, false>(lane);
    }
}

impl Line<'_> {
    /// Some channels along the line.
    #[inline(always)]
    fn along<V: Vector<Elem = f32>, K: Kept<V, N>, const N: usize, const PART: bool>(&self, lane: &Lane<PART>) {
        let Windows { output: [_, width], kernel, stride, dilation, .. } = self.of.windows;
        // What is computed beyond the end is for nothing; more neighbours share more.
        let are_many = V::LANES == LANES && 10 * width.next_multiple_of(MANY) <= 11 * width.next_multiple_of(NEAR);
        let step = if kernel[1] == WIDTH && dilation[1] == 1 { stride[1] } else { 0 };
        match step {
            1 if are_many && (!PART || N == 1) => self.blocks::<V, K, N, 1, MANY, PART>(lane),
            1 => self.blocks::<V, K, N, 1, NEAR, PART>(lane),
            2 if are_many && K::NUMBERS == 1 => self.blocks::<V, K, N, 2, MANY, PART>(lane),
            2 => self.blocks::<V, K, N, 2, NEAR, PART>(lane),
            _ => self.blocks::<V, K, N, 0, MANY, PART>(lane),
        }
    }

    /// The same, so many neighbours at a time, a constant step apart if it is not 0.
    #[inline(always)]
    fn blocks<V, K, const N: usize, const STEP: usize, const COUNT: usize, const PART: bool>(&self, lane: &Lane<PART>)
    where
        V: Vector<Elem = f32>,
        K: Kept<V, N>,
    {
        let Depthwise { windows, epilogue, .. } = *self.of;
        let Windows { input: [_, end], output: [_, width], kernel, stride, dilation, before, .. } = windows;
        let bias = if let Some(bias) = epilogue.bias { lane.apart::<V, K, N>(bias.as_ptr()) } else { [V::zero(); N] };
        let (finish, to) = (Finish::of(epilogue, self.to), *self.to);
        let reach = (COUNT - 1) * stride[1] + (kernel[1].max(1) - 1) * dilation[1];
        for x in (0..width).step_by(COUNT) {
            let first = (x * stride[1]).wrapping_sub(before[1]);
            let is_inside = first.checked_add(reach).is_some_and(|last| last < end);
            let sums = if is_inside && (!PART || N > 1) {
                self.sums::<V, K, N, STEP, COUNT, true, PART>(lane, first, bias)
            } else {
                self.sums::<V, K, N, STEP, COUNT, false, PART>(lane, first, bias)
            };
            lane.write::<V, K, N, COUNT>(sums, epilogue, finish, &to, (self.row + x, COUNT.min(width - x)));
        }
    }

    /// The sums of neighbours, of which the first one's window begins at a column. All that they see is inside, or each column is looked at.
    ///
    /// The loops over constants are unrolled, so that the sums are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn sums<V, K, const N: usize, const STEP: usize, const COUNT: usize, const INSIDE: bool, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        first: usize,
        bias: [V; N],
    ) -> [[V; N]; COUNT]
    where
        V: Vector<Elem = f32>,
        K: Kept<V, N>,
    {
        let Depthwise { channels, windows: Windows { input, kernel, stride, dilation, pixel, .. }, .. } = *self.of;
        // Of a few neighbours each has two sums: products that follow each other go to different ones.
        let are_two = N == 1 && COUNT <= NEAR;
        let mut sums = [[bias, [V::zero(); N]]; COUNT];
        for &(line, weights) in &self.seen {
            let line = line.wrapping_add(first.wrapping_mul(pixel));
            if STEP == 0 {
                for j in 0..kernel[1] {
                    let weight: [V; N] = lane.weights(weights.wrapping_add(j * channels));
                    for o in 0..COUNT {
                        let column = o * stride[1] + j * dilation[1];
                        if INSIDE || first.wrapping_add(column) < input[1] {
                            let numbers = K::numbers(K::load(lane, line.wrapping_add(column * pixel)));
                            for n in 0..N {
                                sums[o][0][n] = numbers[n].mul_add(weight[n], sums[o][0][n]);
                            }
                        }
                    }
                }
                continue;
            }
            let mut kernel = [[V::zero(); N]; WIDTH];
            for j in 0..WIDTH {
                kernel[j] = lane.weights(weights.wrapping_add(j * channels));
            }
            for column in 0..(COUNT - 1) * STEP + WIDTH {
                if INSIDE || first.wrapping_add(column) < input[1] {
                    let numbers = K::numbers(K::load(lane, line.wrapping_add(column * pixel)));
                    let part = if are_two { column % 2 } else { 0 };
                    for o in 0..COUNT {
                        let j = column.wrapping_sub(o * STEP);
                        if j < WIDTH {
                            for n in 0..N {
                                sums[o][part][n] = numbers[n].mul_add(kernel[j][n], sums[o][part][n]);
                            }
                        }
                    }
                }
            }
        }
        let mut all = [bias; COUNT];
        for o in 0..COUNT {
            for n in 0..N {
                all[o][n] = if are_two { sums[o][0][n] + sums[o][1][n] } else { sums[o][0][n] };
            }
        }
        all
    }
}
