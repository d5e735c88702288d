//! Windows of a copy of the image.
//!
//! A vector of channels is copied to where its pixels lie side by side, with the padding around them: as many lines as a window has, each in the
//! place of one that is needed no more. There, a few neighbours are computed at a time: they share numbers and weights, and their sums need not
//! wait for each other.

use std::ops::Range;

use super::lane::{ByLanes, Finish, Halves, Kept, Singles, Widened};
use super::{Depthwise, LANES, Lane, Part, Target, Windows};
use crate::memory::scratch;
use crate::simd::{Kernel, Level, PairKernel, Pairs, Vector, dispatch, dispatch_pairs};
use crate::threads::Shared;

/// The taps of a window for which a copy is worth it, if a version for its columns is missing.
const TAPS: usize = 8;
/// The lines of a copy for each of the image, at most.
const PADDED: usize = 3;
/// The neighbours that are computed together.
const BLOCK: usize = 8;
/// Those whose windows have some of the columns in common, where there is a version for so many.
const NEAR: usize = 4;
/// The weights that share numbers, where there is none.
const SHARED: usize = 4;
/// The sums of each of these: products that follow each other go to different ones.
const SUMS: usize = 2;
/// The vectors of an image that are copied at a time: they stay in the first-level cache.
const CACHED: usize = 384;
/// The columns of a tile of the output, at least and at most, if there are many.
const COLUMNS: [usize; 2] = [32, 64];
/// The lines of the output that are computed one after the other, if there are many, for each of a window: the first ones are also copied
/// for what is above.
const LINES: usize = 4;

/// Whether there is a version for the columns of windows, or a copy is worth it anyway: not where most of what is copied is padding.
pub(super) fn fits(windows: &Windows<'_>) -> bool {
    let Windows { kernel, dilation, input, .. } = windows;
    let is_inside = |i: usize| kernel[i].saturating_sub(1) * dilation[i] < PADDED * input[i];
    is_known(windows) || kernel[0] * kernel[1] >= TAPS && (0..2).all(is_inside)
}

/// Whether the columns that windows have in common are known when this is compiled.
fn is_known(windows: &Windows<'_>) -> bool {
    matches!(windows.kernel[1], 5 | 7) && matches!(windows.stride[1], 1 | 2) && windows.dilation == [1; 2]
}

/// Whether neighbours are one column apart, as what each of them sees.
fn are_beside(windows: &Windows<'_>) -> bool {
    [windows.stride[1], windows.dilation[1]] == [1; 2]
}

/// Computes all windows.
pub(super) fn run(of: &Depthwise<'_>, level: Level, out: &Shared<f32>, stride: usize) {
    let Windows { output: [height, width], kernel, stride: [step, across], .. } = of.windows;
    let [reach, beyond] = of.copied(1);
    // Tiles of columns, all but the last of the same width.
    let most = (CACHED / reach).saturating_sub(beyond) / across;
    let columns = width.div_ceil(width.div_ceil(most.clamp(COLUMNS[0], COLUMNS[1]))).next_multiple_of(BLOCK);
    let weights = kernel[0] * kernel[1] * if of.reads_pairs { 2 } else { 1 };
    let memory = (of.copied(columns).iter().product::<usize>() + weights) * LANES;
    let lines = height.div_ceil(height.div_ceil((LINES * reach).div_ceil(step)));
    of.for_each_part(level, (out, stride), lines, |part, to| {
        scratch(memory, |memory| {
            for first in (0..width).step_by(columns) {
                let columns = first..width.min(first + columns);
                let tile = Tile { of, part: &part, columns, target: to, memory };
                if of.reads_pairs { dispatch_pairs(tile) } else { dispatch(level, tile) }
            }
        });
    });
}

impl Depthwise<'_> {
    /// The lines and columns of an image that so many neighbours are computed from.
    fn copied(&self, columns: usize) -> [usize; 2] {
        let Windows { kernel, stride, dilation, .. } = self.windows;
        let windows = [1, columns.next_multiple_of(BLOCK)];
        std::array::from_fn(|i| (windows[i] - 1) * stride[i] + kernel[i].saturating_sub(1) * dilation[i] + 1)
    }
}

/// Some columns of a part.
struct Tile<'a> {
    of: &'a Depthwise<'a>,
    part: &'a Part,
    columns: Range<usize>,
    target: Target,
    /// For what is copied of the image, and the weights.
    memory: &'a mut [f32],
}

/// What a vector of channels is copied to: lines and columns of the image, and weights.
struct Copies<'a> {
    size: [usize; 2],
    image: &'a mut [f32],
    weights: &'a mut [f32],
}

impl Kernel for Tile<'_> {
    type Elem = f32;
    type Output = ();
    const LEAST: Level = Level::Avx2;

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(mut self) {
        let mut copying = self.copying::<V>();
        let Range { start, end } = copying.tile.part.channels;
        let count = (end - start) % V::LANES;
        for channel in (start..end - count).step_by(V::LANES) {
            copying.whole::<V, Singles, 1>(&Lane { channel, count: V::LANES });
        }
        if count > 0 {
            copying.any::<V, Singles, 1, true>(&Lane { channel: end - count, count });
        }
    }
}

impl PairKernel for Tile<'_> {
    #[inline(always)]
    fn run<V: Pairs>(mut self) {
        let Range { start, end } = self.part.channels;
        self.copying::<V>().all::<V>([start, end]);
    }
}

/// A tile, and what its channels are copied to.
struct Copying<'a> {
    tile: &'a Tile<'a>,
    to: Copies<'a>,
}

impl Copying<'_> {
    /// Whole vectors of channels.
    #[inline(always)]
    fn whole<V: Vector<Elem = f32>, K: Kept<V, N>, const N: usize>(&mut self, lane: &Lane<false>) {
        let Self { tile, to } = self;
        let windows = &tile.of.windows;
        match (windows.kernel[1], windows.stride[1]) {
            _ if !is_known(windows) => self.any::<V, K, N, false>(lane),
            (5, 1) => tile.lane::<V, K, N, 5, 1, NEAR, false>(lane, to),
            (5, _) => tile.lane::<V, K, N, 5, 2, NEAR, false>(lane, to),
            (_, 1) => tile.lane::<V, K, N, 7, 1, NEAR, false>(lane, to),
            _ => tile.lane::<V, K, N, 7, 2, NEAR, false>(lane, to),
        }
    }

    /// Vectors of channels, or a part of them, whatever the windows are.
    #[inline(always)]
    fn any<V: Vector<Elem = f32>, K: Kept<V, N>, const N: usize, const PART: bool>(&mut self, lane: &Lane<PART>) {
        let Self { tile, to } = self;
        match are_beside(&tile.of.windows) {
            // Two vectors have twice the sums.
            true if N > 1 => tile.lane::<V, K, N, 0, 1, NEAR, PART>(lane, to),
            true => tile.lane::<V, K, N, 0, 1, BLOCK, PART>(lane, to),
            false => tile.lane::<V, K, N, 0, 0, BLOCK, PART>(lane, to),
        }
    }
}

impl ByLanes for Copying<'_> {
    #[inline(always)]
    fn two<V: Pairs, const PART: bool>(&mut self, lane: &Lane<PART>) {
        let Lane { channel, count } = *lane;
        match PART {
            true => self.any::<V, Halves, 2, true>(&Lane { channel, count }),
            false => self.whole::<V, Halves, 2>(&Lane { channel, count }),
        }
    }
    #[inline(always)]
    fn one<V: Pairs>(&mut self, lane: &Lane<false>) {
        self.any::<V, Widened, 1, false>(lane);
    }
}

impl Tile<'_> {
    /// The same, with its memory.
    #[inline(always)]
    fn copying<V: Vector<Elem = f32>>(&mut self) -> Copying<'_> {
        let size = self.of.copied(self.columns.len());
        let (image, weights) = std::mem::take(&mut self.memory).split_at_mut(size[0] * size[1] * V::LANES);
        // What stays is the padding.
        image.fill(0.0);
        Copying { tile: self, to: Copies { size, image, weights } }
    }

    /// Some channels, by way of copies of so many lines and columns of the image.
    #[inline(always)]
    fn lane<V, K, const N: usize, const WIDTH: usize, const STRIDE: usize, const MANY: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        to: &mut Copies<'_>,
    ) where
        V: Vector<Elem = f32>,
        K: Kept<V, N>,
    {
        let Copies { size, ref mut image, ref mut weights } = *to;
        let Depthwise { windows: Windows { output, kernel, stride, dilation, .. }, epilogue, .. } = *self.of;
        self.copy_weights::<V, N, PART>(lane, weights);
        let (finish, target) = (Finish::of(epilogue, &self.target), self.target);
        let bias = if let Some(bias) = epilogue.bias { lane.apart::<V, K, N>(bias.as_ptr()) } else { [V::zero(); N] };
        // Where the first line of a window is, and which line comes next.
        let (mut top, mut next) = (Place { line: 0, size }, 0);
        for line in self.part.lines.clone() {
            let first = (line - self.part.lines.start) * stride[0];
            let new = size[0].min(first + size[0] - next);
            let mut place = top.after(size[0] - new);
            next = first + size[0];
            for line in next - new..next {
                self.copy::<V, K, N, PART>(lane, line, image, place);
                place = place.after(1);
            }
            let mut from = image.as_ptr();
            let mut row = (self.part.image * output[0] + line) * output[1] + self.columns.start;
            let mut left = self.columns.len();
            while left > 0 {
                let taps = Taps { from, weights: weights.as_ptr(), kernel, place: top };
                // SAFETY: the copy has all numbers of the windows, and of as many as fill the last block.
                let sums = unsafe {
                    match WIDTH {
                        0 => taps.sums_of_any::<V, K, N, STRIDE, MANY>(stride[1], dilation, bias),
                        _ => taps.sums::<V, K, N, WIDTH, STRIDE, MANY>(bias),
                    }
                };
                let count = left.min(MANY);
                lane.write::<V, K, N, MANY>(sums, epilogue, finish, &target, (row, count));
                from = from.wrapping_add(MANY * stride[1] * V::LANES);
                row += MANY;
                left -= count;
            }
            top = top.after(stride[0].min(size[0]));
        }
    }

    /// Copies what is read of a line's pixels to a place: zeros if it is outside the image. Lines count from the first one of the part's windows.
    #[inline(always)]
    fn copy<V: Vector<Elem = f32>, K: Kept<V, N>, const N: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        line: usize,
        image: &mut [f32],
        place: Place,
    ) {
        let Windows { data, input, pixel, stride, before, .. } = self.of.windows;
        // Which columns of the copy are in the image.
        let (start, width) = (self.columns.start * stride[1], place.size[1]);
        let first = before[1].saturating_sub(start).min(width);
        let end = width.min((input[1] + before[1]).saturating_sub(start)).max(first);
        let to = &mut image[place.start::<V>()..][first * V::LANES..end * V::LANES];
        let y = (self.part.lines.start * stride[0] + line).wrapping_sub(before[0]);
        if y >= input[0] {
            return to.fill(0.0);
        }
        let (y, x) = (self.part.image * input[0] + y, (start + first).wrapping_sub(before[1]));
        let mut from = data.as_ptr().wrapping_add(y.wrapping_mul(input[1]).wrapping_add(x).wrapping_mul(pixel));
        for to in to.chunks_exact_mut(V::LANES) {
            K::load(lane, from).store(to);
            from = from.wrapping_add(pixel);
        }
    }

    /// Copies the weights of a vector of channels.
    #[inline(always)]
    fn copy_weights<V: Vector<Elem = f32>, const N: usize, const PART: bool>(
        &self,
        lane: &Lane<PART>,
        copy: &mut [f32],
    ) {
        let Depthwise { windows: Windows { kernel, .. }, channels, weights, .. } = *self.of;
        let taps = weights.chunks_exact(channels).take(kernel[0] * kernel[1]);
        for (tap, to) in taps.zip(copy.chunks_exact_mut(N * V::LANES)) {
            let numbers: [V; N] = lane.weights(tap.as_ptr());
            for (numbers, to) in numbers.into_iter().zip(to.chunks_exact_mut(V::LANES)) {
                numbers.store(to);
            }
        }
    }
}

/// Where a copied line is: its place, of so many, and of how many vectors each is.
#[derive(Clone, Copy)]
struct Place {
    line: usize,
    size: [usize; 2],
}

impl Place {
    /// Where the numbers begin.
    #[inline(always)]
    fn start<V: Vector<Elem = f32>>(self) -> usize {
        self.line * self.size[1] * V::LANES
    }

    /// Where the line is that comes so many later, at most as many as there are places.
    #[inline(always)]
    fn after(self, lines: usize) -> Self {
        let line = self.line + lines;
        Self { line: if line < self.size[0] { line } else { line - self.size[0] }, ..self }
    }
}

/// What a block of windows is computed from: copied lines of the image, and a copy of a kernel's weights.
struct Taps {
    /// The first column, in the first place.
    from: *const f32,
    weights: *const f32,
    kernel: [usize; 2],
    /// Where the first line is.
    place: Place,
}

impl Taps {
    /// A weight, which is so many behind the first one.
    ///
    /// # Safety
    /// It must be there.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn weight<V: Vector<Elem = f32>, const N: usize>(&self, index: usize) -> [V; N] {
        let mut weight = [V::zero(); N];
        for n in 0..N {
            // SAFETY: the caller's promise.
            weight[n] = unsafe { V::load_at(self.weights.add((index * N + n) * V::LANES)) };
        }
        weight
    }

    /// The sums of some windows of so many columns. The loops over constants are unrolled, so that the sums are registers.
    ///
    /// # Safety
    /// All that is read must be there.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn sums<V, K, const N: usize, const WIDTH: usize, const STRIDE: usize, const MANY: usize>(
        mut self,
        bias: [V; N],
    ) -> [[V; N]; MANY]
    where
        V: Vector<Elem = f32>,
        K: Kept<V, N>,
    {
        // What is kept in words has more of them anyway.
        let parts = if N == 1 { SUMS } else { 1 };
        let mut sums = [[bias, [V::zero(); N]]; MANY];
        for _ in 0..self.kernel[0] {
            let mut kernel = [[V::zero(); N]; WIDTH];
            for j in 0..WIDTH {
                // SAFETY: the caller's promise.
                kernel[j] = unsafe { self.weight(j) };
            }
            let from = self.from.wrapping_add(self.place.start::<V>());
            for column in 0..(MANY - 1) * STRIDE + WIDTH {
                // SAFETY: the caller's promise.
                let numbers = K::numbers(unsafe { V::load_at(from.add(column * V::LANES)) });
                for o in 0..MANY {
                    let j = column.wrapping_sub(o * STRIDE);
                    if j < WIDTH {
                        for n in 0..N {
                            sums[o][j % parts][n] = numbers[n].mul_add(kernel[j][n], sums[o][j % parts][n]);
                        }
                    }
                }
            }
            self.place = self.place.after(1);
            self.weights = self.weights.wrapping_add(WIDTH * N * V::LANES);
        }
        let mut all = [bias; MANY];
        for o in 0..MANY {
            for n in 0..N {
                all[o][n] = if parts > 1 { sums[o][0][n] + sums[o][1][n] } else { sums[o][0][n] };
            }
        }
        all
    }

    /// The sums of some windows of any number of columns: a weight at a time is in a register, and all numbers are read for it; a few weights
    /// at a time, which share numbers, if neighbours are one column apart.
    ///
    /// # Safety
    /// All that is read must be there.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn sums_of_any<
        V: Vector<Elem = f32>,
        K: Kept<V, N>,
        const N: usize,
        const STRIDE: usize,
        const MANY: usize,
    >(
        mut self,
        stride: usize,
        dilation: [usize; 2],
        bias: [V; N],
    ) -> [[V; N]; MANY] {
        let mut sums = [bias; MANY];
        for _ in 0..self.kernel[0] {
            let mut from = self.from.wrapping_add(self.place.start::<V>());
            let mut left = self.kernel[1];
            while STRIDE == 1 && left >= SHARED {
                let mut kernel = [[V::zero(); N]; SHARED];
                for j in 0..SHARED {
                    // SAFETY: the caller's promise.
                    kernel[j] = unsafe { self.weight(j) };
                }
                for column in 0..MANY - 1 + SHARED {
                    // SAFETY: the caller's promise.
                    let numbers = K::numbers(unsafe { V::load_at(from.add(column * V::LANES)) });
                    for o in 0..MANY {
                        let j = column.wrapping_sub(o);
                        if j < SHARED {
                            for n in 0..N {
                                sums[o][n] = numbers[n].mul_add(kernel[j][n], sums[o][n]);
                            }
                        }
                    }
                }
                from = from.wrapping_add(SHARED * V::LANES);
                self.weights = self.weights.wrapping_add(SHARED * N * V::LANES);
                left -= SHARED;
            }
            for _ in 0..left {
                // SAFETY: the caller's promise.
                let weight: [V; N] = unsafe { self.weight(0) };
                for o in 0..MANY {
                    // SAFETY: the caller's promise.
                    let numbers = K::numbers(unsafe { V::load_at(from.add(o * stride * V::LANES)) });
                    for n in 0..N {
                        sums[o][n] = numbers[n].mul_add(weight[n], sums[o][n]);
                    }
                }
                from = from.wrapping_add(dilation[1] * V::LANES);
                self.weights = self.weights.wrapping_add(N * V::LANES);
            }
            self.place = self.place.after(dilation[0]);
        }
        sums
    }
}
