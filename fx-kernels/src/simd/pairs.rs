//! Vectors of words of two bf16 each.

#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{Level, MatrixUnit, Vector};
use crate::memory::{Maker, maker};

/// A vector whose lanes may also be words of two bf16, with instructions for these.
pub(crate) trait Pairs: Vector<Elem = f32> {
    /// The bits of a number of type bf16, which are the upper ones of an f32.
    const BITS: u32 = 16;

    /// The numbers of both vectors, rounded, in order.
    fn pairs(low: Self, high: Self) -> Self;
    /// The numbers of both vectors, rounded: in each word one of either.
    fn joined(low: Self, high: Self) -> Self;
    /// The numbers of words, in order.
    #[inline(always)]
    fn widened(self) -> [Self; 2] {
        let [first, second] = self.halves();
        Self::together(first, second)
    }
    /// The numbers that are first in a word, and those that are second.
    #[inline(always)]
    fn halves(self) -> [Self; 2] {
        [self.bits_up(Self::BITS), self.and(Self::splat(f32::from_bits(!0 << Self::BITS)))]
    }
    /// The numbers of both vectors, which are of words one after the other: those that are first in a word, and those that are second.
    fn apart(low: Self, high: Self) -> [Self; 2];
    /// The opposite: numbers that are first in words, and those that are second, in order.
    fn together(first: Self, second: Self) -> [Self; 2];
    /// Both numbers of each word as whole numbers without a sign, in the order of their size; NaN comes last.
    fn ordered(self) -> Self;
    /// The opposite.
    fn unordered(self) -> Self;
    /// The larger ones of both halves of each word, as whole numbers without a sign.
    fn later(self, other: Self) -> Self;
    /// 2 to the power of each number, within 1e-4 of it: less than is lost in rounding to bf16. NaN gives NaN, infinities the
    /// limits.
    fn exp2(self) -> Self;
    /// 1 by each number, within 1e-4 of it; 0 of infinities.
    fn reciprocal(self) -> Self;
    /// The first four numbers of as many rows as there are lanes, which begin so far apart: a vector for each.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn four_of_rows(from: *const f32, stride: usize) -> [Self; 4];
    /// The first half of the lanes twice: so many of them, a power of 2, and the same again, then the next ones.
    fn doubled(self, some: usize) -> Self;
    /// The products of both numbers of each word, added to `sum`.
    fn dot(self, other: Self, sum: Self) -> Self;
    /// As [`run`](Vector::run), with pairs.
    fn run_pairs<K: PairKernel>(kernel: K);
}

/// A computation with pairs. Every implementation is `#[inline(always)]`.
pub(crate) trait PairKernel: Sized {
    /// The computation.
    fn run<V: Pairs>(self);

    /// Runs it in a function for AVX-512 and its pairs.
    ///
    /// # Safety
    /// The processor must have the instructions.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")]
    #[inline(never)]
    unsafe fn with_avx512<V: Pairs>(self) {
        self.run::<V>();
    }
}

/// Whether the processor has instructions for pairs, and the level's vectors are theirs.
fn are_there(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        level == Level::Avx512 && level.is_available() && is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = level;
        false
    }
}

/// Whether the processor has them and multiplies pairs faster than numbers. Intel's cores take four times as long for a vector of pairs as
/// for one of numbers (Emerald Rapids), but for their matrix unit, which takes the same words. Tests want what is there.
pub(crate) fn has_pairs(level: Level) -> bool {
    let are_fast = || cfg!(test) || maker() != Maker::Intel || MatrixUnit::detect().is_some();
    are_there(level) && are_fast()
}

/// Runs a kernel with pairs.
///
/// # Panics
/// If the processor has no instructions for them.
#[inline(always)]
pub(crate) fn dispatch_pairs<K: PairKernel>(kernel: K) {
    #[cfg(target_arch = "x86_64")]
    {
        assert!(are_there(Level::Avx512), "the processor has no instructions for pairs of bf16");
        x86::F32x16::run_pairs(kernel);
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = kernel;
        unreachable!("there are no instructions for pairs of bf16");
    }
}
