//! A vector of channels along lines: the lines of the image that are under its windows are copied with their padding, so that they
//! lie side by side in the cache, however far apart pixels are.

use std::mem::MaybeUninit;

use super::{Grouped, Job, Part, SIDE};
use crate::math;
use crate::simd::{Kernel, Vector, dispatch, load};

use super::super::left::Windows;

/// The neighbours of a line that are computed together, and those that are left at its end: their sums for one order of lanes stay in 16
/// registers with weights and numbers, those for two in 32. Lines are often a multiple of as many.
const MANY: usize = 7;
const FEW: usize = 4;
/// The fewest and the most lanes of a vector.
const FEWEST_LANES: usize = 8;
const MOST_LANES: usize = 16;
/// The rows of a tile where there are 32 registers.
const ROWS: usize = 12;

/// The numbers that are copied at a time.
pub(super) fn room(of: &Grouped, job: &Job<'_>) -> usize {
    SIDE * of.planes * columns(&job.windows) * of.lanes
}

/// The columns of a line with its padding, up to the last neighbours.
fn columns(windows: &Windows<'_>) -> usize {
    (windows.output[1] + MANY - 2) * windows.stride[1] + SIDE
}

/// Computes a part of the output, whose rows are so far apart. Lines of the image are copied to `room`.
///
/// # Safety
/// All operands must hold what the part is computed from, the part of the result must be the caller's to write, and `room` have
/// [so many](room) numbers.
pub(super) unsafe fn run(of: &Grouped, job: &Job<'_>, part: &Part, out: (*mut f32, usize), room: &mut [f32]) {
    // What is beside the image stays 0.
    room.fill(0.0);
    let plane = columns(&job.windows) * of.lanes;
    dispatch(of.level, Lanes { of, job, part, out, room: room.as_mut_ptr(), plane, line: of.planes * plane });
}

/// The computation.
struct Lanes<'a> {
    of: &'a Grouped,
    job: &'a Job<'a>,
    part: &'a Part,
    /// The first of all rows, and how far they are apart.
    out: (*mut f32, usize),
    /// Where lines are copied to, one after the other, and their length there, and that of their planes.
    room: *mut f32,
    line: usize,
    plane: usize,
}

impl Kernel for Lanes<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        // Nothing is compiled for vectors that have no instruction for orders of lanes.
        if V::LANES < FEWEST_LANES {
            unreachable!("the level was chosen when weights were packed");
        }
        let Windows { input: [height, _], stride, before, .. } = self.job.windows;
        for vector in self.part.vectors.clone() {
            let channel = vector * V::LANES;
            let count = V::LANES.min(self.of.channels - channel);
            // Up to where lines are there.
            let mut end = 0;
            for y in self.part.lines.clone() {
                // The first line of the window may be above the image, the last ones below.
                let top = y * stride[0];
                let first = before[0].saturating_sub(top).min(SIDE);
                let read = (top + first).saturating_sub(before[0]).min(height);
                let inside = (SIDE - first).min(height - read);
                for line in read.max(end)..read + inside {
                    self.copy::<V>(line, channel, count);
                }
                end = read + inside;
                let taps = Taps { first, inside, slot: read % SIDE, channel, count, row: y };
                match stride[1] {
                    1 => self.along::<V, 1>(&taps),
                    _ => self.along::<V, 2>(&taps),
                }
            }
        }
    }
}

/// A line of the output, and a vector of its channels.
struct Taps {
    /// The first line of the window that is inside the image, how many are, and which place the first one's copy has.
    first: usize,
    inside: usize,
    slot: usize,
    /// The first channel, and how many there are.
    channel: usize,
    count: usize,
    /// The line.
    row: usize,
}

impl Lanes<'_> {
    /// Copies what a vector of channels is computed from of a line of the image: for each block of its group's channels a plane of
    /// vectors, where each block of lanes has that of its own group.
    #[inline(always)]
    fn copy<V: Vector<Elem = f32>>(&self, line: usize, channel: usize, count: usize) {
        let Windows { data, input: [height, width], pixel, before, .. } = self.job.windows;
        let &Grouped { group, block, .. } = self.of;
        let data = data.as_ptr().wrapping_add((self.part.image * height + line) * width * pixel);
        let to = self.room.wrapping_add(line % SIDE * self.line + before[1] * V::LANES);
        // Padding may be wider than what is read.
        let width = width.min((self.plane / V::LANES).saturating_sub(before[1]));
        // The blocks lie side by side where there is one for each group.
        let some = if group == block { V::LANES } else { block };
        for plane in 0..self.of.planes {
            for lane in (0..count).step_by(some) {
                let own = channel + lane;
                let mut from =
                    data.wrapping_add(if group == block { own } else { own / group * group + plane * block });
                let mut to = to.wrapping_add(plane * self.plane + lane);
                let some = some.min(count - lane);
                for _ in 0..width {
                    // SAFETY: the image has the pixel (the promise of `run`'s caller), and the line a place for it.
                    unsafe {
                        match some == V::LANES {
                            true => V::load_at(from).store_at(to),
                            false => V::load_first(from, some).store_first(to, some),
                        }
                    }
                    (from, to) = (from.wrapping_add(pixel), to.wrapping_add(V::LANES));
                }
            }
        }
    }

    /// All pixels of a line.
    #[inline(always)]
    fn along<V: Vector<Elem = f32>, const STEP: usize>(&self, taps: &Taps) {
        let width = self.job.windows.output[1];
        let mut x = 0;
        while x < width {
            let left = width - x;
            match (V::ROWS >= ROWS, left >= FEW) {
                (true, true) => self.near::<V, STEP, MANY, 2>(taps, x, left.min(MANY)),
                (true, false) => self.near::<V, STEP, FEW, 2>(taps, x, left),
                (false, true) => self.near::<V, STEP, MANY, 1>(taps, x, left.min(MANY)),
                (false, false) => self.near::<V, STEP, FEW, 1>(taps, x, left),
            }
            x += MANY.min(left);
        }
    }

    /// Some neighbours of a line, of which so many are written, with the sums of so many orders of lanes at a time.
    ///
    /// The loops over constants are unrolled, so that the sums are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn near<V: Vector<Elem = f32>, const STEP: usize, const NEAR: usize, const ORDERS: usize>(
        &self,
        taps: &Taps,
        x: usize,
        some: usize,
    ) {
        let (Self { of, job, .. }, &Taps { channel, count, .. }) = (self, taps);
        let load = |from: *const f32| -> V {
            let from = from.wrapping_add(channel);
            // SAFETY: as for `run`.
            unsafe { load(from, count) }
        };
        let bias = if let Some(bias) = job.epilogue.bias { load(bias.as_ptr()) } else { V::zero() };
        let mut sums = [bias; NEAR];
        // The weights of a line of the window for all orders of a block, and those that are taken together.
        let (block, some_orders) = (of.block * SIDE * V::LANES, ORDERS * SIDE * V::LANES);
        let first = (channel / V::LANES * of.planes * SIDE + taps.first) * block;
        let (mut weights, mut place) = (of.weights.numbers().as_ptr().wrapping_add(first), x * STEP * V::LANES);
        for _ in 0..of.planes {
            let mut own = weights;
            for order in (0..of.block).step_by(ORDERS) {
                let mut parts = [[V::zero(); ORDERS]; NEAR];
                let mut line_weights = own;
                let mut slot = taps.slot;
                for _ in 0..taps.inside {
                    let mut kernel = [[V::zero(); SIDE]; ORDERS];
                    for r in 0..ORDERS {
                        for j in 0..SIDE {
                            let from = line_weights.wrapping_add((r * SIDE + j) * V::LANES);
                            // SAFETY: there are vectors for each column of each order of each line.
                            kernel[r][j] = unsafe { V::load_at(from) };
                        }
                    }
                    line_weights = line_weights.wrapping_add(block);
                    let from = self.room.wrapping_add(slot * self.line + place);
                    slot = if slot + 1 == SIDE { 0 } else { slot + 1 };
                    // SAFETY: a line has all columns of the last neighbours.
                    let number = |column: usize| -> V { unsafe { V::load_at(from.wrapping_add(column * V::LANES)) } };
                    // Neighbours have all columns of a window in common but one or two.
                    let mut numbers = [V::zero(); SIDE];
                    for j in STEP..SIDE {
                        numbers[j] = number(j - STEP);
                    }
                    for o in 0..NEAR {
                        for j in 0..SIDE {
                            numbers[j] = if j + STEP < SIDE { numbers[j + STEP] } else { number(o * STEP + j) };
                        }
                        for j in 0..SIDE {
                            for r in 0..ORDERS {
                                parts[o][r] = numbers[j].mul_add(kernel[r][j], parts[o][r]);
                            }
                        }
                    }
                }
                for o in 0..NEAR {
                    for r in 0..ORDERS {
                        sums[o] = sums[o] + parts[o][r].swapped(order + r);
                    }
                }
                own = own.wrapping_add(some_orders);
            }
            weights = weights.wrapping_add(SIDE * block);
            place += self.plane;
        }
        let Windows { output: [height, width], .. } = job.windows;
        let ((out, stride), row) = (self.out, (self.part.image * height + taps.row) * width + x);
        let (low, high) = job.epilogue.limits();
        let place = |o: usize| out.wrapping_add((row + o) * stride + channel);
        if count == V::LANES && !job.epilogue.adds() {
            for o in 0..NEAR {
                if o < some {
                    // SAFETY: as for `run`.
                    unsafe { math::clamp(sums[o], low, high).store_at(place(o)) };
                }
            }
            return;
        }
        // By way of memory, so that the loop over what is done with a sum need not be unrolled for sums to be registers.
        let mut aside = [MaybeUninit::<f32>::uninit(); MANY * MOST_LANES];
        let aside = aside.as_mut_ptr().cast::<f32>();
        for o in 0..NEAR {
            // SAFETY: there is room for as many vectors.
            unsafe { sums[o].store_at(aside.wrapping_add(o * V::LANES)) };
        }
        for o in 0..some {
            let load = |from: *const f32, stride| load(from.wrapping_add((row + o) * stride));
            // SAFETY: as above.
            let sum = unsafe { V::load_at(aside.wrapping_add(o * V::LANES)) };
            let sum = math::clamp(job.epilogue.add(sum, (out, stride), load), low, high);
            // SAFETY: as for `run`.
            unsafe { sum.store_first(place(o), count) };
        }
    }
}
