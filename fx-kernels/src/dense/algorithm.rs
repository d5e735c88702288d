//! Ways to compute products with fewer multiplications than there are in their definition.

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
    /// times those of the direct algorithm.
    Winograd4,
}

impl Algorithm {
    /// The algorithm that so many rows are multiplied by, where this one was asked for.
    pub(crate) fn of_rows(self, rows: usize, panels: &Panels) -> Self {
        if self == Self::Strassen && Strassen::is_faster(rows, panels) { self } else { Self::Direct }
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
