//! Functions that follow the sums of a tile.

use super::Tile;
use super::finish::WordMatrix;
use crate::dense::format::Packing;
use crate::elementwise::Unary;
use crate::math::rounded;
use crate::rounded::Rounded;
use crate::simd::{PairKernel, Pairs};

impl Tile {
    /// Whether tiles of such words apply a function themselves: one that takes no more instructions than bounds, or one of numbers that they
    /// round to pairs, which needs fewer digits then. All others go over what was written once more.
    pub(crate) fn applies(function: Unary, packing: Packing, written: Option<Rounded>) -> bool {
        match function {
            Unary::Hardswish => !packing.is_halves(),
            Unary::Silu | Unary::Gelu | Unary::GeluTanh => packing == Packing::Pairs && written == Some(Rounded::Pairs),
            _ => false,
        }
    }
}

/// Writes a function of sums as pairs.
///
/// The sums come by way of memory, so that there is one version for all tiles, whose loop is not unrolled: functions are long.
pub(super) struct ToPairs {
    pub(super) function: Unary,
    /// The sums of all rows, one after the other, and how many vectors a row has.
    pub(super) sums: *const f32,
    pub(super) vectors: usize,
    pub(super) rows: usize,
    /// Where they are written, from a row and a column on, and how many columns at most.
    pub(super) written: WordMatrix,
    pub(super) place: [usize; 2],
    pub(super) columns: usize,
}

impl PairKernel for ToPairs {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        let Self { function, sums, vectors, rows, written, place: [row, column], columns } = self;
        let words = columns.min(vectors * V::LANES) / 2;
        // A function over vectors that is handed on would be a call for each.
        macro_rules! each {
            ($function:path) => {
                for i in 0..rows {
                    // SAFETY: the sums are there, and the place is the tile's to write.
                    unsafe {
                        let from = sums.add(i * vectors * V::LANES);
                        let first = $function(V::load_at(from));
                        let last = if vectors == 1 { first } else { $function(V::load_at(from.add(V::LANES))) };
                        V::pairs(first, last).store_first(written.at(row + i, column).cast(), words);
                    }
                }
            };
        }
        match function {
            Unary::Silu => each!(rounded::silu),
            Unary::Gelu => each!(rounded::gelu),
            Unary::GeluTanh => each!(rounded::gelu_tanh),
            function => unreachable!("{function} is not applied to sums"),
        }
    }
}
