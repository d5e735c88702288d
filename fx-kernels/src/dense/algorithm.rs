//! Ways to compute products with fewer multiplications than there are in their definition.

use super::format::Packing;
use super::matrix_unit::Estimate;
use super::panels::Panels;
use super::strassen::Strassen;
use crate::simd::Vector;

/// The ways to compute a linear layer or a convolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// The sums of its definition.
    #[default]
    Direct,
    /// Strassen's for linear layers and convolutions of single pixels, where there are rows enough: seven products of halves of
    /// the matrices in the place of eight. Its rounding errors are two to three times those of the direct algorithm.
    Strassen,
    /// Winograd's F(2x2, 3x3) for windows of 3 by 3, with 16 products instead of 36 for each 2 by 2 pixels.
    Winograd2,
    /// Winograd's F(4x4, 3x3), with 36 products instead of 144 for each 4 by 4 pixels: its rounding errors are about three
    /// times those of the direct algorithm. Lines and columns whose windows have four to nine taps are folded to images of lines of three pixels, for which
    /// it takes 36 products instead of up to 108 for each 12 pixels.
    Winograd4,
    /// Winograd's F(4, 3) for windows of three taps along a line or column, with six products instead of 12 for each four pixels.
    WinogradLine,
    /// The sums of its definition, each number of which is the sum of three bf16: a matrix unit adds up six products of these in f32. Its
    /// rounding errors are no larger than those of the direct algorithm. What of a number is too small to be normal counts as 0. Where
    /// this takes less time it comes in the place of Strassen's too; without a unit the direct algorithm does.
    Bf16x6,
    /// The sums of its definition, of two neighbours in a line at once, for windows whose outputs fill half of a vector at most.
    TwoPixels,
}

impl Algorithm {
    /// Whether a result may take the place of what is added to it: it is not computed again where it is not finite.
    pub fn writes_once(self) -> bool {
        self != Self::TwoPixels
    }

    /// The algorithm that so many rows are multiplied by, where this one was asked for.
    pub(crate) fn of_rows(self, rows: usize, panels: &Panels) -> Self {
        let in_pieces =
            || panels.packing() == Packing::Single && Estimate::of_rows(rows, panels).is_faster(panels.level());
        match self {
            Self::Bf16x6 => self,
            Self::Strassen if in_pieces() => Self::Bf16x6,
            Self::Strassen if Strassen::is_faster(rows, panels) => self,
            _ => Self::Direct,
        }
    }

    /// The algorithm that windows are multiplied by where they lie, whatever their number, where this one was asked for.
    pub(crate) fn of_windows(self, panels: &Panels) -> Self {
        let in_pieces = self == Self::Bf16x6 && panels.packing() == Packing::Single;
        if in_pieces { self } else { Self::Direct }
    }
}

/// Stays 0 as long as all numbers are finite: what is not spreads in sums, and is then computed by the definition.
#[inline(always)]
pub(super) fn doubt<V: Vector<Elem = f32>, const M: usize>(doubt: V, numbers: &[[V; M]; M]) -> V {
    // A sum for each column, so that few wait for each other.
    let mut sums = [V::zero(); M];
    for row in numbers {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum = x.mul_add(V::zero(), *sum);
        }
    }
    sums.into_iter().fold(doubt, |doubt, sum| doubt + sum)
}
