//! A register tile: some rows times a panel of one vector or two, both of words.

use std::ptr::null;

use super::words::Words;
use crate::math::Single;

/// Rows whose words lie at equal distances, and a panel that they are multiplied with.
pub(super) struct Tile {
    /// How many rows there are, at most the level's.
    pub(super) rows: usize,
    /// The first word of the first row.
    pub(super) left: *const f32,
    /// How far apart rows are, and the words of a row.
    pub(super) row: usize,
    pub(super) step: usize,
    /// The length of a row, and the rows of the panel.
    pub(super) depth: usize,
    pub(super) panel: *const f32,
    /// Where the product is written: as many rows, of the panel's width.
    pub(super) out: *mut f32,
}

impl Tile {
    /// Computes the product, added to `before` times what is there, times `after`.
    ///
    /// # Safety
    /// The pointers must be valid for all reads and writes that the fields describe.
    #[inline(always)]
    pub(super) unsafe fn run<V: Single, W: Words<V>, const VECTORS: usize>(
        &self,
        before: Option<[V; VECTORS]>,
        after: Option<[V; VECTORS]>,
    ) {
        macro_rules! with_rows {
            ($($rows:literal)*) => {
                match self.rows {
                    // SAFETY: the caller's promise.
                    $($rows if const { $rows <= V::ROWS } => unsafe {
                        self.multiply::<V, W, $rows, VECTORS>(before, after)
                    },)*
                    rows => unreachable!("a tile of {rows} rows"),
                }
            };
        }
        with_rows!(1 2 3 4 5 6 7 8 9 10 11 12);
    }

    /// # Safety
    /// As for [`run`](Self::run), with so many rows.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    unsafe fn multiply<V: Single, W: Words<V>, const ROWS: usize, const VECTORS: usize>(
        &self,
        before: Option<[V; VECTORS]>,
        after: Option<[V; VECTORS]>,
    ) {
        let place = |i: usize, v: usize| self.out.wrapping_add((i * VECTORS + v) * V::LANES);
        let mut sums = [[V::zero(); VECTORS]; ROWS];
        if let Some(before) = before {
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    // SAFETY: the caller's promise.
                    sums[i][v] = unsafe { V::load_at(place(i, v)) } * before[v];
                }
            }
        }
        let mut rows = [null(); ROWS];
        for i in 0..ROWS {
            rows[i] = self.left.wrapping_add(i * self.row);
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
            index += self.step;
        }
        if let Some(after) = after {
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    sums[i][v] = sums[i][v] * after[v];
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
