//! What is multiplied: numbers, or pairs of them that are rounded to bf16.

use std::f32::consts::LOG2_E;

use super::tile::Tile;
use crate::math::{self, Floats, Single};
use crate::simd::{Beside, Lanes, Pairs};

/// What a word of the operands is, in vectors of a type.
pub(super) trait Words<V> {
    /// The numbers in a word.
    const NUMBERS: usize;

    /// Two vectors of numbers as one of words; a word of one number is the first.
    fn of(low: V, high: V) -> V;

    /// The exponential of how far scores are below the highest, as accurate as words are.
    fn power(below: Beside<V>) -> Beside<V>;

    /// The products of the numbers of words, added to `sum`.
    fn mul_add(left: V, right: V, sum: V) -> V;

    /// Computes a tile.
    ///
    /// # Safety
    /// Its pointers must be valid for all reads and writes that its fields describe.
    unsafe fn multiply<const TURNED: bool>(tile: &Tile<TURNED>);

    /// How many words so many numbers are.
    fn count(numbers: usize) -> usize {
        numbers.div_ceil(Self::NUMBERS)
    }
}

/// The exponential of how far a score is below the highest. Scores themselves are no powers of 2: with that factor, the lowest
/// number in a mask would be minus infinity.
#[inline(always)]
pub(super) fn power<V: Floats>(below: V) -> V {
    math::exp2_below_one(below * V::splat(LOG2_E))
}

/// Numbers as they are.
pub(super) struct Singles;

impl<V: Single> Words<V> for Singles {
    const NUMBERS: usize = 1;

    #[inline(always)]
    fn of(low: V, _: V) -> V {
        low
    }

    #[inline(always)]
    fn power(below: Beside<V>) -> Beside<V> {
        power(below)
    }

    #[inline(always)]
    fn mul_add(left: V, right: V, sum: V) -> V {
        left.mul_add(right, sum)
    }

    #[inline(always)]
    unsafe fn multiply<const TURNED: bool>(tile: &Tile<TURNED>) {
        V::run(tile);
    }
}

/// Two numbers, as bf16.
pub(super) struct Couples;

impl<V: Pairs> Words<V> for Couples {
    const NUMBERS: usize = 2;

    #[inline(always)]
    fn of(low: V, high: V) -> V {
        V::joined(low, high)
    }

    #[inline(always)]
    fn power(below: Beside<V>) -> Beside<V> {
        let mut powers = below * Beside::splat(LOG2_E);
        // As `power` has 0 for what is no normal number.
        let least = V::splat(-126.0);
        for x in &mut powers.0 {
            *x = V::select(x.lt(least), V::zero(), least.max(*x).exp2());
        }
        powers
    }

    #[inline(always)]
    fn mul_add(left: V, right: V, sum: V) -> V {
        left.dot(right, sum)
    }

    #[inline(always)]
    unsafe fn multiply<const TURNED: bool>(tile: &Tile<TURNED>) {
        V::run_pairs(tile);
    }
}
