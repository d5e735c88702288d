//! Windows of 3 by 3 where the image lies: a vector of channels goes along some lines with all its weights in registers.

use super::lane::{Finish, Singles};
use super::lines::WIDTH;
use super::{Depthwise, LANES, Lane, Part, Target, Windows};
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::Shared;

/// Computes all windows.
///
/// A vector of channels goes along all lines of a part before the next one does: what it reads of a line is in the first-level
/// cache for the next two.
pub(super) fn run(of: &Depthwise<'_>, level: Level, out: &Shared<f32>, stride: usize) {
    of.for_each_part(level, (out, stride), of.lines_in_cache(stride), |part, to| {
        dispatch(level, Lines { of, part: &part, to });
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
        let Part { image, ref lines, ref channels } = *self.part;
        let Windows { input: [height, width], output, stride, dilation, before, data, pixel, .. } = self.of.windows;
        for channel in channels.clone().step_by(V::LANES) {
            let count = V::LANES.min(channels.end - channel);
            for y in lines.clone() {
                let tap = |tap: usize| (y * stride[0] + tap * dilation[0]).wrapping_sub(before[0]);
                let first = (0..WIDTH).find(|i| tap(*i) < height).unwrap_or(0);
                let inside = (first..WIDTH).take_while(|i| tap(*i) < height).count();
                let from = data.as_ptr().wrapping_add((image * height + tap(first).min(height)) * width * pixel);
                let taps = Taps { of: self.of, first, from, row: (image * output[0] + y) * output[1], to: &self.to };
                match inside {
                    0 => taps.lane::<V, 0>(channel, count),
                    1 => taps.lane::<V, 1>(channel, count),
                    2 => taps.lane::<V, 2>(channel, count),
                    _ => taps.lane::<V, 3>(channel, count),
                }
            }
        }
    }
}

/// A line of the output, and the lines of the image that are under its windows.
struct Taps<'a> {
    of: &'a Depthwise<'a>,
    /// The first one's number in the window.
    first: usize,
    /// Where it begins.
    from: *const f32,
    /// The number of the line's first row among those of all images.
    row: usize,
    to: &'a Target,
}

impl Taps<'_> {
    /// A vector of channels, which may be a part of one.
    #[inline(always)]
    fn lane<V: Vector<Elem = f32>, const LINES: usize>(&self, channel: usize, count: usize) {
        let Windows { input: [_, width], output, stride, dilation, before, .. } = self.of.windows;
        // On the left and on the right some columns of the window are outside.
        let reach = (WIDTH - 1) * dilation[1] + 1;
        let end = (width + before[1]).checked_sub(reach).map_or(0, |room| room / stride[1] + 1).min(output[1]);
        let start = before[1].div_ceil(stride[1]).min(end);
        match (stride[1], dilation[1]) {
            _ if count < V::LANES => self.along::<V, LINES, 0, 1, true>(&Lane { channel, count }, [start, end]),
            // There are registers for weights, numbers and sums of more neighbours with AVX-512 alone.
            (1, 1) if V::LANES == LANES => {
                self.along::<V, LINES, 1, 4, false>(&Lane { channel, count }, [start, end]);
            }
            (1, 1) => self.along::<V, LINES, 1, 2, false>(&Lane { channel, count }, [start, end]),
            (2, 1) => self.along::<V, LINES, 2, 2, false>(&Lane { channel, count }, [start, end]),
            _ => self.along::<V, LINES, 0, 1, false>(&Lane { channel, count }, [start, end]),
        }
    }

    /// A vector of channels along the line, whose windows from one place to another are inside the image. With a constant step
    /// that is not 0, some neighbours at a time.
    ///
    /// The loops over constants are unrolled, so that the weights are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn along<V: Vector<Elem = f32>, const LINES: usize, const STEP: usize, const NEAR: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        [start, end]: [usize; 2],
    ) {
        let Depthwise { windows, channels, weights, epilogue, .. } = *self.of;
        let Windows { input: [_, width], output, stride, dilation, before, pixel, .. } = windows;
        let mut kernel = [[V::zero(); WIDTH]; LINES];
        for i in 0..LINES {
            for j in 0..WIDTH {
                let tap = (self.first + i) * WIDTH + j;
                kernel[i][j] = lane.load(weights.as_ptr().wrapping_add(tap * channels));
            }
        }
        let bias = if let Some(bias) = epilogue.bias { lane.load(bias.as_ptr()) } else { V::zero() };
        let finish = (Finish::of(epilogue, self.to), *self.to);
        let (line, step) = (dilation[0] * width * pixel, stride[1] * pixel);
        for x in (0..start).chain(end..output[1]) {
            let mut sum = bias;
            for j in 0..WIDTH {
                let column = (x * stride[1] + j * dilation[1]).wrapping_sub(before[1]);
                if column < width {
                    for i in 0..LINES {
                        let from = self.from.wrapping_add(i * line + column * pixel);
                        sum = lane.load::<V>(from).mul_add(kernel[i][j], sum);
                    }
                }
            }
            self.write(lane, finish, [sum], x);
        }
        let mut from = self.from.wrapping_add((start * stride[1]).wrapping_sub(before[1]).wrapping_mul(pixel));
        let mut x = start;
        // Neighbours read some columns together. Each has two sums, so that products need not wait for each other.
        while STEP > 0 && x + NEAR <= end {
            let mut sums = [[bias, V::zero()]; NEAR];
            for column in 0..WIDTH + (NEAR - 1) * STEP {
                for i in 0..LINES {
                    let number = lane.load::<V>(from.wrapping_add(i * line + column * pixel));
                    for o in 0..NEAR {
                        let j = column.wrapping_sub(o * STEP);
                        if j < WIDTH {
                            sums[o][column % 2] = number.mul_add(kernel[i][j], sums[o][column % 2]);
                        }
                    }
                }
            }
            let mut all = [bias; NEAR];
            for o in 0..NEAR {
                all[o] = sums[o][0] + sums[o][1];
            }
            self.write(lane, finish, all, x);
            from = from.wrapping_add(NEAR * step);
            x += NEAR;
        }
        for x in x..end {
            let mut sum = bias;
            for j in 0..WIDTH {
                for i in 0..LINES {
                    let from = from.wrapping_add(i * line + j * dilation[1] * pixel);
                    sum = lane.load::<V>(from).mul_add(kernel[i][j], sum);
                }
            }
            self.write(lane, finish, [sum], x);
            from = from.wrapping_add(step);
        }
    }

    /// Writes sums with bias to pixels, with what follows, where they go.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn write<V: Vector<Elem = f32>, const COUNT: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        (finish, to): (Finish, Target),
        sums: [V; COUNT],
        x: usize,
    ) {
        let mut all = [[V::zero(); 1]; COUNT];
        for o in 0..COUNT {
            all[o] = [sums[o]];
        }
        lane.write::<V, Singles, 1, COUNT>(all, self.of.epilogue, finish, &to, (self.row + x, COUNT));
    }
}
