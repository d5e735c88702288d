//! Windows of 3 by 3 where the image lies: a vector of channels goes along a line with all its weights in registers.

use super::{Depthwise, Lane, Windows};
use crate::elementwise::run_rows;
use crate::math;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each};

/// The columns of a window.
const WIDTH: usize = 3;

/// Computes all windows.
pub(super) fn run(of: &Depthwise<'_>, level: Level, out: &Shared<f32>, stride: usize) {
    let Windows { output: [height, width], .. } = of.windows;
    for_each(of.batch * height, of.work(), |index| {
        let to = out.at(index * width * stride);
        dispatch(level, Line { of, index, to, stride });
        if let Some(function) = of.epilogue.function() {
            // SAFETY: the line is in the result (`Depthwise::run` saw it), and no other task has it.
            unsafe { run_rows(level, function, to, width, stride, of.channels) };
        }
    });
}

/// A line of the output.
struct Line<'a> {
    of: &'a Depthwise<'a>,
    /// Its number among those of all images.
    index: usize,
    to: *mut f32,
    stride: usize,
}

impl Kernel for Line<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Windows { input: [height, width], output, stride, dilation, before, data, pixel, .. } = self.of.windows;
        let (image, y) = (self.index / output[0], self.index % output[0]);
        let tap = |tap: usize| (y * stride[0] + tap * dilation[0]).wrapping_sub(before[0]);
        let first = (0..WIDTH).find(|i| tap(*i) < height).unwrap_or(0);
        let count = (first..WIDTH).take_while(|i| tap(*i) < height).count();
        let from = data.as_ptr().wrapping_add((image * height + tap(first).min(height)) * width * pixel);
        let taps = Taps { line: &self, first, from };
        match count {
            0 => taps.channels::<V, 0>(),
            1 => taps.channels::<V, 1>(),
            2 => taps.channels::<V, 2>(),
            _ => taps.channels::<V, 3>(),
        }
    }
}

/// The lines of the image that are under the windows of a line.
struct Taps<'a> {
    line: &'a Line<'a>,
    /// The first one's number in the window.
    first: usize,
    /// Where it begins.
    from: *const f32,
}

impl Taps<'_> {
    /// All channels, a vector at a time.
    #[inline(always)]
    fn channels<V: Vector<Elem = f32>, const LINES: usize>(&self) {
        let Windows { input: [_, width], output, stride, dilation, before, .. } = self.line.of.windows;
        // On the left and on the right some columns of the window are outside.
        let reach = (WIDTH - 1) * dilation[1] + 1;
        let end = (width + before[1]).checked_sub(reach).map_or(0, |room| room / stride[1] + 1).min(output[1]);
        let start = before[1].div_ceil(stride[1]).min(end);
        let channels = self.line.of.channels;
        for channel in (0..channels).step_by(V::LANES) {
            let count = V::LANES.min(channels - channel);
            match (stride[1], dilation[1]) {
                _ if count < V::LANES => self.along::<V, LINES, 0, true>(&Lane { channel, count }, [start, end]),
                (1, 1) => self.along::<V, LINES, 1, false>(&Lane { channel, count }, [start, end]),
                (2, 1) => self.along::<V, LINES, 2, false>(&Lane { channel, count }, [start, end]),
                _ => self.along::<V, LINES, 0, false>(&Lane { channel, count }, [start, end]),
            }
        }
    }

    /// A vector of channels along the line, whose windows from one place to another are inside the image. With a constant step
    /// that is not 0, two neighbours at a time.
    ///
    /// The loops over constants are unrolled, so that the weights are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn along<V: Vector<Elem = f32>, const LINES: usize, const STEP: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        [start, end]: [usize; 2],
    ) {
        let Depthwise { windows, channels, weights, epilogue, .. } = *self.line.of;
        let Windows { input: [_, width], output, stride, dilation, before, pixel, .. } = windows;
        let mut kernel = [[V::zero(); WIDTH]; LINES];
        for i in 0..LINES {
            for j in 0..WIDTH {
                let tap = (self.first + i) * WIDTH + j;
                kernel[i][j] = lane.load(weights.as_ptr().wrapping_add(tap * channels));
            }
        }
        let bias = if let Some(bias) = epilogue.bias { lane.load(bias.as_ptr()) } else { V::zero() };
        let finish = (epilogue.adds(), epilogue.limits());
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
            self.line.write(lane, finish, sum, x);
        }
        let mut from = self.from.wrapping_add((start * stride[1]).wrapping_sub(before[1]).wrapping_mul(pixel));
        let mut x = start;
        // Neighbours read some columns together. Each has two sums, so that products need not wait for each other.
        while STEP > 0 && x + 2 <= end {
            let mut sums = [[bias, V::zero()]; 2];
            for j in 0..WIDTH + STEP {
                for i in 0..LINES {
                    let number = lane.load::<V>(from.wrapping_add(i * line + j * pixel));
                    if j < WIDTH {
                        sums[0][j % 2] = number.mul_add(kernel[i][j], sums[0][j % 2]);
                    }
                    if j >= STEP {
                        sums[1][j % 2] = number.mul_add(kernel[i][j - STEP], sums[1][j % 2]);
                    }
                }
            }
            self.line.write(lane, finish, sums[0][0] + sums[0][1], x);
            self.line.write(lane, finish, sums[1][0] + sums[1][1], x + 1);
            from = from.wrapping_add(2 * step);
            x += 2;
        }
        for x in x..end {
            let mut sum = bias;
            for j in 0..WIDTH {
                for i in 0..LINES {
                    let from = from.wrapping_add(i * line + j * dilation[1] * pixel);
                    sum = lane.load::<V>(from).mul_add(kernel[i][j], sum);
                }
            }
            self.line.write(lane, finish, sum, x);
            from = from.wrapping_add(step);
        }
    }
}

impl Line<'_> {
    /// Writes sums with bias to a pixel, with what follows: whether matrices are added, and limits.
    #[inline(always)]
    fn write<V: Vector<Elem = f32>, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        (adds, (low, high)): (bool, (f32, f32)),
        sum: V,
        x: usize,
    ) {
        let mut sum = sum;
        if adds {
            let first = self.index * self.of.windows.output[1];
            // From the first of all rows on.
            let out = self.to.wrapping_sub(first * self.stride);
            let load = |from: *const f32, stride| lane.load(from.wrapping_add((first + x) * stride));
            sum = self.of.epilogue.add(sum, (out, self.stride), load);
        }
        lane.store(math::clamp(sum, low, high), self.to.wrapping_add(x * self.stride));
    }
}
