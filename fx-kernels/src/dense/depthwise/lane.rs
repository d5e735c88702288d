//! Vectors of channels of a pixel, as numbers or as words of two bf16, and what becomes of their sums.

use super::Target;
use crate::dense::epilogue::Epilogue;
use crate::elementwise::Unary;
use crate::math::{self, rounded};
use crate::simd::{PairKernel, Pairs, Vector, dispatch_pairs};

/// A vector of channels, or two: which one is the first, and how many there are. All that vectors have, unless they are a part.
pub(super) struct Lane<const PART: bool> {
    pub(super) channel: usize,
    pub(super) count: usize,
}

/// What follows sums in registers.
#[derive(Clone, Copy)]
pub(super) struct Finish {
    /// Whether matrices are added.
    adds: bool,
    /// A function that is done here.
    function: Option<Unary>,
    /// The limits.
    limits: (f32, f32),
}

impl Finish {
    /// As an epilogue says. Its function is done elsewhere, unless it [is done here](Self::has).
    pub(super) fn of(epilogue: &Epilogue<'_>, to: &Target) -> Self {
        let function = epilogue.function().filter(|function| Self::has(*function, to.is_words));
        Self { adds: epilogue.adds(), function, limits: epilogue.limits() }
    }

    /// Whether a function is done in registers: one that takes no more instructions than limits, or one of numbers that become words, which needs
    /// fewer digits then.
    pub(super) fn has(function: Unary, to_words: bool) -> bool {
        function == Unary::Hardswish || to_words && function == Unary::Silu
    }
}

/// How pixels keep their numbers: what is read of them at once are `N` vectors of numbers. One vector has them in their order.
pub(super) trait Kept<V: Vector<Elem = f32>, const N: usize> {
    /// How many numbers are in a word.
    const NUMBERS: usize;

    /// What is read at once of the pixel that begins at a place.
    fn load<const PART: bool>(lane: &Lane<PART>, from: *const f32) -> V;

    /// Its numbers.
    #[inline(always)]
    fn numbers(read: V) -> [V; N] {
        [read; N]
    }

    /// Numbers that lie side by side, as [`numbers`](Self::numbers) has them.
    #[inline(always)]
    fn apart(beside: [V; N]) -> [V; N] {
        beside
    }

    /// The opposite.
    #[inline(always)]
    fn together(numbers: [V; N]) -> [V; N] {
        numbers
    }

    /// [`rounded::silu`] of numbers that become words.
    #[inline(always)]
    fn silu(_numbers: V) -> V {
        unreachable!("numbers become no words");
    }

    /// Writes numbers as words to the pixel that begins at a place.
    fn store<const PART: bool>(lane: &Lane<PART>, numbers: [V; N], to: *mut f32);
}

/// As they are.
pub(super) struct Singles;

impl<V: Vector<Elem = f32>> Kept<V, 1> for Singles {
    const NUMBERS: usize = 1;

    #[inline(always)]
    fn load<const PART: bool>(lane: &Lane<PART>, from: *const f32) -> V {
        lane.load(from)
    }
    #[inline(always)]
    fn store<const PART: bool>(lane: &Lane<PART>, [numbers]: [V; 1], to: *mut f32) {
        lane.store(numbers, to);
    }
}

/// As words of two bf16: a vector of words at once.
pub(super) struct Halves;

impl<V: Pairs> Kept<V, 2> for Halves {
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn load<const PART: bool>(lane: &Lane<PART>, from: *const f32) -> V {
        lane.words().load(from)
    }
    #[inline(always)]
    fn numbers(read: V) -> [V; 2] {
        read.halves()
    }
    #[inline(always)]
    fn apart([low, high]: [V; 2]) -> [V; 2] {
        V::apart(low, high)
    }
    #[inline(always)]
    fn together([first, second]: [V; 2]) -> [V; 2] {
        V::together(first, second)
    }
    #[inline(always)]
    fn silu(numbers: V) -> V {
        rounded::silu(numbers)
    }
    #[inline(always)]
    fn store<const PART: bool>(lane: &Lane<PART>, [first, second]: [V; 2], to: *mut f32) {
        lane.words().store(V::joined(first, second), to);
    }
}

/// As words of two bf16: half a vector of words at once, which is a vector of numbers.
pub(super) struct Widened;

impl<V: Pairs> Kept<V, 1> for Widened {
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn load<const PART: bool>(lane: &Lane<PART>, from: *const f32) -> V {
        // SAFETY: as for `Lane::load`; it is no part.
        unsafe { V::load_bf16(from.cast::<u16>().wrapping_add(lane.channel)) }
    }
    #[inline(always)]
    fn silu(numbers: V) -> V {
        rounded::silu(numbers)
    }
    #[inline(always)]
    fn store<const PART: bool>(lane: &Lane<PART>, [numbers]: [V; 1], to: *mut f32) {
        let words = Lane::<true> { channel: lane.channel / 2, count: V::LANES / 2 };
        words.store(V::pairs(numbers, V::zero()), to);
    }
}

impl<const PART: bool> Lane<PART> {
    /// The same of words of two channels.
    #[inline(always)]
    fn words(&self) -> Self {
        Self { channel: self.channel / 2, count: self.count / 2 }
    }

    /// A vector's numbers of the pixel, or of all else, that begins at a place.
    #[inline(always)]
    pub(super) fn load<V: Vector<Elem = f32>>(&self, from: *const f32) -> V {
        let from = from.wrapping_add(self.channel);
        // SAFETY: `Depthwise::run` saw that images, weights and all else hold so many.
        unsafe { if PART { V::load_first(from, self.count) } else { V::load_at(from) } }
    }

    /// Writes a vector's numbers to the pixel that begins at a place.
    #[inline(always)]
    fn store<V: Vector<Elem = f32>>(&self, x: V, to: *mut f32) {
        let to = to.wrapping_add(self.channel);
        // SAFETY: as above, for the result.
        unsafe { if PART { x.store_first(to, self.count) } else { x.store_at(to) } };
    }

    /// One of the vectors of channels.
    #[inline(always)]
    fn vector<V: Vector<Elem = f32>>(&self, n: usize) -> Self {
        let before = n * V::LANES;
        Self { channel: self.channel + before, count: self.count.saturating_sub(before).min(V::LANES) }
    }

    /// Numbers of all channels, from a place on: the vectors' side by side.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn beside<V: Vector<Elem = f32>, const N: usize>(&self, from: *const f32) -> [V; N] {
        let mut numbers = [V::zero(); N];
        for n in 0..N {
            numbers[n] = self.vector::<V>(n).load(from);
        }
        numbers
    }

    /// The same as pixels keep them.
    #[inline(always)]
    pub(super) fn apart<V: Vector<Elem = f32>, K: Kept<V, N>, const N: usize>(&self, from: *const f32) -> [V; N] {
        K::apart(self.beside(from))
    }

    /// Weights, which are as pixels keep numbers: see [`apart`].
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    pub(super) fn weights<V: Vector<Elem = f32>, const N: usize>(&self, from: *const f32) -> [V; N] {
        let count = if PART { self.count / N } else { V::LANES };
        let mut numbers = [V::zero(); N];
        for n in 0..N {
            numbers[n] = Self { channel: self.channel + n * count, count }.load(from);
        }
        numbers
    }

    /// Writes the sums of rows that follow each other, so many at most, with what follows them: matrices that are added, and what takes few
    /// instructions.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    pub(super) fn write<V: Vector<Elem = f32>, K: Kept<V, N>, const N: usize, const COUNT: usize>(
        &self,
        mut sums: [[V; N]; COUNT],
        epilogue: &Epilogue<'_>,
        finish: Finish,
        to: &Target,
        (row, count): (usize, usize),
    ) {
        // One look for all of them.
        match finish.function.filter(|_| !finish.adds) {
            None => (),
            Some(Unary::Hardswish) => {
                for o in 0..COUNT {
                    for n in 0..N {
                        sums[o][n] = math::hardswish(sums[o][n]);
                    }
                }
            }
            Some(_) => {
                for o in 0..COUNT {
                    for n in 0..N {
                        sums[o][n] = K::silu(sums[o][n]);
                    }
                }
            }
        }
        for o in 0..COUNT {
            if o < count {
                self.write_one::<V, K, N>(sums[o], epilogue, finish, to, row + o);
            }
        }
    }

    /// Writes sums, to which more may be added.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn write_one<V: Vector<Elem = f32>, K: Kept<V, N>, const N: usize>(
        &self,
        mut sums: [V; N],
        epilogue: &Epilogue<'_>,
        finish: Finish,
        to: &Target,
        row: usize,
    ) {
        let are_words = K::NUMBERS > 1 && to.is_words;
        let Finish { adds, function, limits: (low, high) } = finish;
        if adds || !are_words {
            sums = K::together(sums);
        }
        if adds {
            for n in 0..N {
                let load = |from: *const f32, stride: usize| self.vector::<V>(n).load(from.wrapping_add(row * stride));
                sums[n] = epilogue.add(sums[n], (to.first, to.stride), load);
                match function {
                    None => (),
                    Some(Unary::Hardswish) => sums[n] = math::hardswish(sums[n]),
                    Some(_) => sums[n] = K::silu(sums[n]),
                }
            }
        }
        for n in 0..N {
            sums[n] = math::clamp(sums[n], low, high);
        }
        let place = to.first.wrapping_add(row * to.stride);
        if are_words {
            return K::store(self, if adds { K::apart(sums) } else { sums }, place);
        }
        for n in 0..N {
            self.vector::<V>(n).store(sums[n], place);
        }
    }
}

/// What is done with channels from one to another that are words.
pub(super) trait ByLanes {
    /// With two whole vectors of channels, or a part of them.
    fn two<V: Pairs, const PART: bool>(&mut self, lane: &Lane<PART>);

    /// With one vector.
    fn one<V: Pairs>(&mut self, lane: &Lane<false>);

    /// With all of them, the first of which is one of all channels after a number of whole pairs of vectors.
    #[inline(always)]
    fn all<V: Pairs>(&mut self, [start, end]: [usize; 2]) {
        let rest = (end - start) % (2 * V::LANES);
        for channel in (start..end - rest).step_by(2 * V::LANES) {
            self.two::<V, false>(&Lane { channel, count: 2 * V::LANES });
        }
        if rest == V::LANES {
            self.one::<V>(&Lane { channel: end - rest, count: rest });
        } else if rest > 0 {
            self.two::<V, true>(&Lane { channel: end - rest, count: rest });
        }
    }
}

/// Numbers of all channels, for some taps, as vectors of them are used with words.
pub(super) fn apart(numbers: &[f32], channels: usize) -> Vec<f32> {
    let mut all = vec![0.0; numbers.len()];
    dispatch_pairs(Taps { to: &mut all, numbers, channels });
    all
}

struct Taps<'a> {
    to: &'a mut [f32],
    numbers: &'a [f32],
    channels: usize,
}

impl PairKernel for Taps<'_> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        let taps = self.numbers.chunks_exact(self.channels);
        for (numbers, to) in taps.zip(self.to.chunks_exact_mut(self.channels)) {
            Apart { to: to.as_mut_ptr(), numbers: numbers.as_ptr() }.all::<V>([0, self.channels]);
        }
    }
}

/// A tap's numbers, and where they go.
struct Apart {
    to: *mut f32,
    numbers: *const f32,
}

impl ByLanes for Apart {
    #[inline(always)]
    fn two<V: Pairs, const PART: bool>(&mut self, lane: &Lane<PART>) {
        let [first, second] = lane.apart::<V, Halves, 2>(self.numbers);
        let Lane { channel, count } = lane.words();
        let (channel, count) = (2 * channel, count);
        Lane::<PART> { channel, count }.store(first, self.to);
        Lane::<PART> { channel: channel + count, count }.store(second, self.to);
    }
    #[inline(always)]
    fn one<V: Pairs>(&mut self, lane: &Lane<false>) {
        lane.store(lane.load::<V>(self.numbers), self.to);
    }
}
