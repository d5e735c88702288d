//! A vector of channels along lines: the lines of the image that are under its windows are copied with their padding, so that they
//! lie side by side in the cache, however far apart pixels are.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::{Grouped, Job, Part, SIDE};
use crate::elementwise::{Unary, run_rows};
use crate::math;
use crate::memory::LINE;
use crate::simd::{Kernel, Lanes as _, PairKernel, Pairs, Vector, dispatch, dispatch_pairs, load, store};

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

/// The numbers that are copied at a time, and a line of results if a function is computed of them before they are words.
pub(super) fn room(of: &Grouped, job: &Job<'_>) -> usize {
    copied(of, job) + if function(job).is_some() { job.windows.output[1] * of.lanes } else { 0 }
}

fn copied(of: &Grouped, job: &Job<'_>) -> usize {
    together(of, job) * SIDE * of.planes * columns(&job.windows) * of.lanes
}

/// What is computed of results before they are words.
fn function(job: &Job<'_>) -> Option<Unary> {
    job.epilogue.function().filter(|_| job.written.output.is_some())
}

/// The vectors whose channels lie in one line of the cache.
fn together(of: &Grouped, job: &Job<'_>) -> usize {
    let words = if job.written.left { of.lanes / 2 } else { of.lanes };
    (LINE / words).max(1)
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
    let (room, results) = room.split_at_mut(copied(of, job));
    let (room, results) = (room.as_mut_ptr(), results.as_mut_ptr());
    let lanes = Lanes { of, job, part, out, room, results, plane, line: of.planes * plane };
    if of.in_pairs { dispatch_pairs(lanes) } else { dispatch(of.level, lanes) }
}

/// What the words of a line are.
trait Way {
    type Vector: Vector<Elem = f32>;

    /// Products of words, added to sums.
    fn add(x: Self::Vector, weights: Self::Vector, sums: Self::Vector) -> Self::Vector;

    /// Copies a line's pixels for a vector of outputs; see [`Lanes::copy`].
    fn copy(lanes: &Lanes<'_>, line: usize, channels: Channels);

    /// Writes the first numbers of a vector, as words if the result is to be such.
    ///
    /// # Safety
    /// There must be room for them.
    unsafe fn write(x: Self::Vector, to: *mut f32, count: usize, as_words: bool);
}

/// Numbers.
struct Numbers<V>(PhantomData<V>);

impl<V: Vector<Elem = f32>> Way for Numbers<V> {
    type Vector = V;

    #[inline(always)]
    fn add(x: V, weights: V, sums: V) -> V {
        x.mul_add(weights, sums)
    }
    #[inline(always)]
    fn copy(lanes: &Lanes<'_>, line: usize, channels: Channels) {
        lanes.copy::<V>(line, channels);
    }
    #[inline(always)]
    unsafe fn write(x: V, to: *mut f32, count: usize, _: bool) {
        // SAFETY: the caller's promise.
        unsafe { store(x, to, count) };
    }
}

/// Words of two numbers, each group's twice.
struct Twice<V>(PhantomData<V>);

impl<V: Pairs> Way for Twice<V> {
    type Vector = V;

    #[inline(always)]
    fn add(x: V, weights: V, sums: V) -> V {
        x.dot(weights, sums)
    }
    #[inline(always)]
    fn copy(lanes: &Lanes<'_>, line: usize, channels: Channels) {
        let Channels { channel, count, room } = channels;
        // SAFETY: the image has the pixel (the promise of `run`'s caller).
        let load = |from: *const f32, count: usize| unsafe { load::<V>(from, count) };
        if lanes.job.written.left {
            // SAFETY: as above.
            lanes.copy_pairs((line, channel / 2), room, |from| unsafe { V::load_first(from, count / 2) });
        } else {
            lanes.copy_pairs((line, channel), room, |from| V::pairs(load(from, count), V::zero()));
        }
    }
    #[inline(always)]
    unsafe fn write(x: V, to: *mut f32, count: usize, as_words: bool) {
        // SAFETY: the caller's promise.
        unsafe {
            match as_words {
                true => V::pairs(x, V::zero()).store_first(to, count / 2),
                false => store(x, to, count),
            }
        }
    }
}

/// The computation.
struct Lanes<'a> {
    of: &'a Grouped,
    job: &'a Job<'a>,
    part: &'a Part,
    /// The first of all rows, and how far they are apart.
    out: (*mut f32, usize),
    /// Where lines are copied to, those of one vector after the other, and their length there, and that of their planes.
    room: *mut f32,
    line: usize,
    plane: usize,
    /// Where a line of results is before it is words, if a function is computed of them.
    results: *mut f32,
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
        self.all::<Numbers<V>>();
    }
}

impl PairKernel for Lanes<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        self.all::<Twice<V>>();
    }
}

/// A line of the output.
#[derive(Clone, Copy)]
struct Taps {
    /// The first line of the window that is inside the image, how many are, and which place the first one's copy has.
    first: usize,
    inside: usize,
    slot: usize,
    /// The line.
    row: usize,
}

/// Where a vector of channels of a line is written: the first pixel's place, and how far two are apart.
#[derive(Clone, Copy)]
struct To {
    first: *mut f32,
    stride: usize,
    as_words: bool,
}

/// A vector of channels: the first one, how many there are, and where lines of it are copied to.
#[derive(Clone, Copy)]
struct Channels {
    channel: usize,
    count: usize,
    room: *mut f32,
}

impl Lanes<'_> {
    /// All lines, for one vector of channels after the other, or several whose channels are read together.
    #[inline(always)]
    fn all<W: Way>(self) {
        let Windows { input: [height, _], stride, before, .. } = self.job.windows;
        let (together, end) = (together(self.of, self.job), self.part.vectors.end);
        for some in self.part.vectors.clone().step_by(together) {
            let vectors = some..end.min(some + together);
            let channels = |vector: usize| {
                let (channel, room) = (vector * W::Vector::LANES, (vector - some) * SIDE * self.line);
                let count = W::Vector::LANES.min(self.of.channels - channel);
                Channels { channel, count, room: self.room.wrapping_add(room) }
            };
            // Up to where lines are there.
            let mut end = 0;
            for y in self.part.lines.clone() {
                // The first line of the window may be above the image, the last ones below.
                let top = y * stride[0];
                let first = before[0].saturating_sub(top).min(SIDE);
                let read = (top + first).saturating_sub(before[0]).min(height);
                let inside = (SIDE - first).min(height - read);
                for line in read.max(end)..read + inside {
                    for vector in vectors.clone() {
                        W::copy(&self, line, channels(vector));
                    }
                }
                end = read + inside;
                let taps = Taps { first, inside, slot: read % SIDE, row: y };
                for vector in vectors.clone() {
                    match stride[1] {
                        1 => self.along::<W, 1>(taps, channels(vector)),
                        _ => self.along::<W, 2>(taps, channels(vector)),
                    }
                }
            }
        }
    }

    /// Copies what a vector of channels is computed from of a line of the image: for each block of its group's channels a plane of
    /// vectors, where each block of lanes has that of its own group.
    #[inline(always)]
    fn copy<V: Vector<Elem = f32>>(&self, line: usize, Channels { channel, count, room }: Channels) {
        let Windows { data, input: [height, width], pixel, before, .. } = self.job.windows;
        let &Grouped { group, block, .. } = self.of;
        let data = data.as_ptr().wrapping_add((self.part.image * height + line) * width * pixel);
        let to = room.wrapping_add(line % SIDE * self.line + before[1] * V::LANES);
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

    /// As [`copy`](Self::copy), of words of pairs, which `load` reads or makes, each group's twice.
    #[inline(always)]
    fn copy_pairs<V: Pairs>(&self, (line, first): (usize, usize), room: *mut f32, load: impl Fn(*const f32) -> V) {
        let Windows { data, input: [height, width], pixel, before, .. } = self.job.windows;
        let mut from = data.as_ptr().wrapping_add((self.part.image * height + line) * width * pixel + first);
        let mut to = room.wrapping_add(line % SIDE * self.line + before[1] * V::LANES);
        for _ in 0..width.min((self.plane / V::LANES).saturating_sub(before[1])) {
            // SAFETY: the line has a place for the pixel.
            unsafe { load(from).doubled(self.of.block).store_at(to) };
            (from, to) = (from.wrapping_add(pixel), to.wrapping_add(V::LANES));
        }
    }

    /// All pixels of a line.
    #[inline(always)]
    fn along<W: Way, const STEP: usize>(&self, taps: Taps, channels: Channels) {
        let Windows { output: [height, width], .. } = self.job.windows;
        let row = (self.part.image * height + taps.row) * width;
        let first = self.out.0.wrapping_add(row * self.out.1 + self.job.columns(channels.channel));
        let place = To { first, stride: self.out.1, as_words: self.job.written.output.is_some() };
        let function = function(self.job);
        let to = match function {
            None => place,
            Some(_) => To { first: self.results, stride: W::Vector::LANES, as_words: false },
        };
        let mut x = 0;
        while x < width {
            let left = width - x;
            match (W::Vector::ROWS >= ROWS, left >= FEW) {
                (true, true) => self.near::<W, STEP, MANY, 2>(taps, channels, to, x, left.min(MANY)),
                (true, false) => self.near::<W, STEP, FEW, 2>(taps, channels, to, x, left),
                (false, true) => self.near::<W, STEP, MANY, 1>(taps, channels, to, x, left.min(MANY)),
                (false, false) => self.near::<W, STEP, FEW, 1>(taps, channels, to, x, left),
            }
            x += MANY.min(left);
        }
        let Some(function) = function else { return };
        // SAFETY: a line of vectors is there, and as for `run`.
        unsafe {
            run_rows(self.of.level, function, to.first, width, to.stride, to.stride);
            for x in 0..width {
                let results = W::Vector::load_at(to.first.wrapping_add(x * to.stride));
                W::write(results, place.first.wrapping_add(x * place.stride), channels.count, place.as_words);
            }
        }
    }

    /// Some neighbours of a line, of which so many are written, with the sums of so many orders of lanes at a time.
    ///
    /// The loops over constants are unrolled, so that the sums are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn near<W: Way, const STEP: usize, const NEAR: usize, const ORDERS: usize>(
        &self,
        taps: Taps,
        Channels { channel, count, room }: Channels,
        To { first, stride: distance, as_words }: To,
        x: usize,
        some: usize,
    ) {
        let Self { of, job, .. } = self;
        let load = |from: *const f32| -> W::Vector {
            let from = from.wrapping_add(channel);
            // SAFETY: as for `run`.
            unsafe { load(from, count) }
        };
        let bias = if let Some(bias) = job.epilogue.bias { load(bias.as_ptr()) } else { W::Vector::zero() };
        let mut sums = [bias; NEAR];
        // The weights of a line of the window for all orders of a block, and those that are taken together.
        let (block, some_orders) = (of.block * SIDE * W::Vector::LANES, ORDERS * SIDE * W::Vector::LANES);
        let own = (channel / W::Vector::LANES * of.planes * SIDE + taps.first) * block;
        let (mut weights, mut place) = (of.weights.numbers().as_ptr().wrapping_add(own), x * STEP * W::Vector::LANES);
        for _ in 0..of.planes {
            let mut own = weights;
            for order in (0..of.block).step_by(ORDERS) {
                let mut parts = [[W::Vector::zero(); ORDERS]; NEAR];
                let mut line_weights = own;
                let mut slot = taps.slot;
                for _ in 0..taps.inside {
                    let mut kernel = [[W::Vector::zero(); SIDE]; ORDERS];
                    for r in 0..ORDERS {
                        for j in 0..SIDE {
                            let from = line_weights.wrapping_add((r * SIDE + j) * W::Vector::LANES);
                            // SAFETY: there are vectors for each column of each order of each line.
                            kernel[r][j] = unsafe { W::Vector::load_at(from) };
                        }
                    }
                    line_weights = line_weights.wrapping_add(block);
                    let from = room.wrapping_add(slot * self.line + place);
                    slot = if slot + 1 == SIDE { 0 } else { slot + 1 };
                    let number = |column: usize| -> W::Vector {
                        // SAFETY: a line has all columns of the last neighbours.
                        unsafe { W::Vector::load_at(from.wrapping_add(column * W::Vector::LANES)) }
                    };
                    // Neighbours have all columns of a window in common but one or two.
                    let mut numbers = [W::Vector::zero(); SIDE];
                    for j in STEP..SIDE {
                        numbers[j] = number(j - STEP);
                    }
                    for o in 0..NEAR {
                        for j in 0..SIDE {
                            numbers[j] = if j + STEP < SIDE { numbers[j + STEP] } else { number(o * STEP + j) };
                        }
                        for j in 0..SIDE {
                            for r in 0..ORDERS {
                                parts[o][r] = W::add(numbers[j], kernel[r][j], parts[o][r]);
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
        let place = |o: usize| first.wrapping_add((x + o) * distance);
        if count == W::Vector::LANES && !job.epilogue.adds() {
            for o in 0..NEAR {
                if o < some {
                    // SAFETY: as for `run`.
                    unsafe { W::write(math::clamp(sums[o], low, high), place(o), W::Vector::LANES, as_words) };
                }
            }
            return;
        }
        // By way of memory, so that the loop over what is done with a sum need not be unrolled for sums to be registers.
        let mut aside = [MaybeUninit::<f32>::uninit(); MANY * MOST_LANES];
        let aside = aside.as_mut_ptr().cast::<f32>();
        for o in 0..NEAR {
            // SAFETY: there is room for as many vectors.
            unsafe { sums[o].store_at(aside.wrapping_add(o * W::Vector::LANES)) };
        }
        for o in 0..some {
            let load = |from: *const f32, stride| load(from.wrapping_add((row + o) * stride));
            // SAFETY: as above.
            let sum = unsafe { W::Vector::load_at(aside.wrapping_add(o * W::Vector::LANES)) };
            let sum = math::clamp(job.epilogue.add(sum, (out, stride), load), low, high);
            // SAFETY: as for `run`.
            unsafe { W::write(sum, place(o), count, as_words) };
        }
    }
}
