//! Depthwise convolutions of 3 by 3 and 5 by 5: a vector of channels goes along a line with all its weights in registers.

use super::epilogue::Epilogue;
use super::left::{Left, Windows};
use crate::elementwise::run_rows;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each};

/// A depthwise convolution.
pub(crate) struct Depthwise<'a> {
    /// The windows, of 3 by 3 or 5 by 5.
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
    /// Whether there is a version for the window.
    pub(crate) fn fits(kernel: [usize; 2]) -> bool {
        kernel == [3; 2] || kernel == [5; 2]
    }

    /// Computes all windows, into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short, or there is no version for the window.
    pub(crate) fn run(&self, level: Level, out: &mut [f32], stride: usize) {
        let Windows { output: [height, width], kernel, .. } = self.windows;
        let (rows, channels) = (self.batch * height * width, self.channels);
        if rows == 0 || channels == 0 {
            return;
        }
        assert!(Self::fits(kernel), "a window of {} by {}", kernel[0], kernel[1]);
        assert!(Left::Windows(self.windows).covers(rows, channels), "the images are too short");
        assert!(stride >= channels && (rows - 1) * stride + channels <= out.len(), "the result does not fit");
        assert!(self.weights.len() >= kernel[0] * kernel[1] * channels, "there are too few weights");
        self.epilogue.check(rows, channels);
        let out = Shared(out.as_mut_ptr());
        for_each(self.batch * height, 8 * rows * channels * kernel[0], |index| {
            let to = out.at(index * width * stride);
            dispatch(level, Line { of: self, index, to, stride });
            if let Some(function) = self.epilogue.function() {
                // SAFETY: the line is in the result (seen above), and no other task has it.
                unsafe { run_rows(level, function, to, width, stride, channels) };
            }
        });
    }
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
        let Windows { input: [height, width], output, kernel, stride, dilation, before, data, pixel, .. } =
            self.of.windows;
        let (image, y) = (self.index / output[0], self.index % output[0]);
        let tap = |tap: usize| (y * stride[0] + tap * dilation[0]).wrapping_sub(before[0]);
        let first = (0..kernel[0]).find(|i| tap(*i) < height).unwrap_or(0);
        let count = (first..kernel[0]).take_while(|i| tap(*i) < height).count();
        let from = data.as_ptr().wrapping_add((image * height + tap(first).min(height)) * width * pixel);
        let taps = Taps { line: &self, first, from };
        match (kernel[0], count) {
            (_, 0) => taps.channels::<V, 0, 3>(),
            (3, 1) => taps.channels::<V, 1, 3>(),
            (3, 2) => taps.channels::<V, 2, 3>(),
            (3, _) => taps.channels::<V, 3, 3>(),
            (_, 1) => taps.channels::<V, 1, 5>(),
            (_, 2) => taps.channels::<V, 2, 5>(),
            (_, 3) => taps.channels::<V, 3, 5>(),
            (_, 4) => taps.channels::<V, 4, 5>(),
            _ => taps.channels::<V, 5, 5>(),
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
    fn channels<V: Vector<Elem = f32>, const LINES: usize, const WIDTH: usize>(&self) {
        let channels = self.line.of.channels;
        let whole = channels - channels % V::LANES;
        for channel in (0..whole).step_by(V::LANES) {
            self.along::<V, LINES, WIDTH, false>(&Lane { channel, channels });
        }
        if whole < channels {
            self.along::<V, LINES, WIDTH, true>(&Lane { channel: whole, channels });
        }
    }

    /// A vector of channels, of which only a part may be there, along the line.
    ///
    /// The loops over constants are unrolled, so that the weights are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn along<V: Vector<Elem = f32>, const LINES: usize, const WIDTH: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
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
        let (low, high) = epilogue.bounds().unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
        let finish = Finish { adds: epilogue.adds(), low: V::splat(low), high: V::splat(high) };
        let (line, step) = (dilation[0] * width * pixel, stride[1] * pixel);
        let reach = (WIDTH - 1) * dilation[1] + 1;
        let end = (width + before[1]).checked_sub(reach).map_or(0, |room| room / stride[1] + 1).min(output[1]);
        let start = before[1].div_ceil(stride[1]).min(end);
        // On the left and on the right some columns of the window are outside.
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
            self.line.write(lane, &finish, sum, x);
        }
        let mut from = self.from.wrapping_add((start * stride[1]).wrapping_sub(before[1]).wrapping_mul(pixel));
        let mut x = start;
        // Neighbours read all columns but one together.
        while (stride[1], dilation[1]) == (1, 1) && x + 2 <= end {
            let (mut left, mut right) = (bias, bias);
            for j in 0..=WIDTH {
                for i in 0..LINES {
                    let number = lane.load::<V>(from.wrapping_add(i * line + j * pixel));
                    if j < WIDTH {
                        left = number.mul_add(kernel[i][j], left);
                    }
                    if j > 0 {
                        right = number.mul_add(kernel[i][j - 1], right);
                    }
                }
            }
            self.line.write(lane, &finish, left, x);
            self.line.write(lane, &finish, right, x + 1);
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
            self.line.write(lane, &finish, sum, x);
            from = from.wrapping_add(step);
        }
    }
}

impl Line<'_> {
    /// Writes sums with bias to a pixel, with what follows.
    #[inline(always)]
    fn write<V: Vector<Elem = f32>, const PART: bool>(&self, lane: &Lane<PART>, finish: &Finish<V>, sum: V, x: usize) {
        let to = self.to.wrapping_add(x * self.stride);
        let mut sum = sum;
        if finish.adds {
            let row = self.index * self.of.windows.output[1] + x;
            sum = self.of.epilogue.add(sum, row, to, |from| lane.load(from));
        }
        sum = finish.high.min(finish.low.max(sum));
        let to = to.wrapping_add(lane.channel);
        // SAFETY: the line is the caller's to write.
        unsafe { if PART { sum.store_first(to, lane.channels - lane.channel) } else { sum.store_at(to) } };
    }
}

/// A vector of channels: the first, and how many there are in all.
struct Lane<const PART: bool> {
    channel: usize,
    channels: usize,
}

impl<const PART: bool> Lane<PART> {
    /// The vector's channels of the pixel, or of all else, that begins at a place.
    #[inline(always)]
    fn load<V: Vector<Elem = f32>>(&self, from: *const f32) -> V {
        let from = from.wrapping_add(self.channel);
        // SAFETY: `Depthwise::run` saw that images, weights and all else hold so many channels.
        unsafe { if PART { V::load_first(from, self.channels - self.channel) } else { V::load_at(from) } }
    }
}

/// What follows a sum.
struct Finish<V> {
    /// Whether other matrices than the bias are added.
    adds: bool,
    low: V,
    high: V,
}
