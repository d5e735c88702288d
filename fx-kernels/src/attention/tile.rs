//! A register tile: some rows times a panel of one vector or two, both of words.

use std::ptr::null;

use super::words::{Couples, Singles, Words};
use super::{GROUP, Kernel, Vector};
use crate::math::Single;
use crate::simd::{PairKernel, Pairs};

/// A factor for each query of a panel.
pub(super) type Factors = [f32; GROUP];

/// Rows of words, and a panel that they are multiplied with. The words of a row lie side by side, or, if `TURNED`, the first ones
/// of all rows do, and so on.
pub(super) struct Tile<'a, const TURNED: bool> {
    /// How many rows there are, at most the level's.
    pub(super) rows: usize,
    /// The first word of the first row.
    pub(super) left: *const f32,
    /// How far apart the others are: rows, or the words of a row.
    pub(super) distance: usize,
    /// The length of a row, and the rows of the panel.
    pub(super) depth: usize,
    pub(super) panel: *const f32,
    /// Whether the panel is one vector wide, not two.
    pub(super) narrow: bool,
    /// What is in the place of the result is multiplied by this, and added to the product.
    pub(super) before: Option<&'a Factors>,
    /// What the sum is multiplied by.
    pub(super) after: Option<&'a Factors>,
    /// Where the result is written: as many rows, of the panel's width.
    pub(super) out: *mut f32,
}

/// The product of numbers.
impl<const TURNED: bool> Kernel for &Tile<'_, TURNED> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        self.product::<V, Singles>();
    }
}

/// The product of pairs.
impl<const TURNED: bool> PairKernel for &Tile<'_, TURNED> {
    #[inline(always)]
    fn run<V: Pairs>(self) {
        self.product::<V, Couples>();
    }
}

impl<const TURNED: bool> Tile<'_, TURNED> {
    #[inline(always)]
    fn product<V: Single, W: Words<V>>(&self) {
        macro_rules! with_rows {
            ($($rows:literal)*) => {
                match self.rows {
                    // SAFETY: the pointers are valid as the fields say.
                    $($rows if const { $rows <= V::ROWS } => unsafe {
                        if self.narrow { self.multiply::<V, W, $rows, 1>() } else { self.multiply::<V, W, $rows, 2>() }
                    },)*
                    rows => unreachable!("a tile of {rows} rows"),
                }
            };
        }
        with_rows!(1 2 3 4 5 6 7 8 9 10 11 12);
    }

    /// # Safety
    /// There must be so many rows, and the panel be so many vectors wide.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn multiply<V: Single, W: Words<V>, const ROWS: usize, const VECTORS: usize>(&self) {
        let place = |i: usize, v: usize| self.out.wrapping_add((i * VECTORS + v) * V::LANES);
        let mut sums = [[V::zero(); VECTORS]; ROWS];
        if let Some(before) = self.before {
            for v in 0..VECTORS {
                let before = V::load(&before[v * V::LANES..]);
                for i in 0..ROWS {
                    // SAFETY: the caller's promise.
                    sums[i][v] = unsafe { V::load_at(place(i, v)) } * before;
                }
            }
        }
        let [row, step] = if TURNED { [1, self.distance] } else { [self.distance, 1] };
        let mut rows = [null(); ROWS];
        for i in 0..ROWS {
            rows[i] = self.left.wrapping_add(i * row);
        }
        let (mut panel, mut index) = (self.panel, 0);
        for _ in 0..self.depth {
            let mut right = [V::zero(); VECTORS];
            for v in 0..VECTORS {
                // SAFETY: the caller's promise.
                right[v] = unsafe { V::load_at(panel.wrapping_add(v * V::LANES)) };
            }
            for i in 0..ROWS {
                // SAFETY: as above.
                let left = V::splat(unsafe { *rows[i].wrapping_add(index) });
                for v in 0..VECTORS {
                    sums[i][v] = W::mul_add(left, right[v], sums[i][v]);
                }
            }
            panel = panel.wrapping_add(VECTORS * V::LANES);
            index += step;
        }
        if let Some(after) = self.after {
            for v in 0..VECTORS {
                let after = V::load(&after[v * V::LANES..]);
                for i in 0..ROWS {
                    sums[i][v] = sums[i][v] * after;
                }
            }
        }
        for i in 0..ROWS {
            for v in 0..VECTORS {
                // SAFETY: as above.
                unsafe { sums[i][v].store_at(place(i, v)) };
            }
        }
    }
}
