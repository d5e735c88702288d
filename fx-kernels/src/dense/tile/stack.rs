//! Tiles of the same rows, one for each of several matrices that lie one after the other.

use std::marker::PhantomData;

use super::{Packing, Run, Singles, Tile};
use crate::simd::{Kernel, Level, Vector, dispatch};

/// Matrices that are multiplied with parts of the same rows.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    /// How many there are.
    pub(crate) count: usize,
    /// How much further on in the rows the next one's part begins.
    pub(crate) offset: usize,
    /// The distance of their panels.
    pub(crate) panel: usize,
    /// The distance of their results.
    pub(crate) out: usize,
}

impl Stack {
    /// Computes a tile for each matrix: the given one for the first. It is of numbers, in one panel, and nothing is done with its
    /// sums.
    ///
    /// # Safety
    /// As for [`Tile::run`], for all of them.
    pub(crate) unsafe fn run(self, level: Level, first: &Tile) {
        debug_assert!(first.packing == Packing::Single && first.panels == 1);
        debug_assert!(!first.accumulate && first.bias.is_null() && first.residual.is_null() && first.bounds.is_none());
        dispatch(level, Each(first, self));
    }

    /// Moves a tile on by so many matrices.
    #[inline(always)]
    pub(super) fn advance(self, tile: &mut Tile, matrices: usize) {
        tile.offset += matrices * self.offset;
        tile.panel = tile.panel.wrapping_add(matrices * self.panel);
        tile.out = tile.out.wrapping_add(matrices * self.out);
    }
}

/// The computation.
struct Each<'a>(&'a Tile, Stack);

impl Kernel for Each<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self(first, stack) = self;
        let mut done = 0;
        if 2 * first.rows <= V::ROWS && first.segments == 1 {
            done = stack.count / 2 * 2;
            with_rows!(
                first,
                V,
                |ROWS| if first.narrow { twos::<V, ROWS, 1>(first, stack) } else { twos::<V, ROWS, 2>(first, stack) },
                1 2 3 4 5 6
            );
        }
        if done < stack.count {
            let mut rest = Tile { tiles: stack.count - done, stack: Some(stack), ..*first };
            stack.advance(&mut rest, done);
            V::run(Run::<Singles>(&rest, PhantomData));
        }
    }
}

/// The tiles of two matrices at a time, in one segment: those of few rows have few sums, each of which waits for the step before.
///
/// # Safety
/// As for [`Stack::run`].
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
unsafe fn twos<V: Vector<Elem = f32>, const ROWS: usize, const VECTORS: usize>(first: &Tile, stack: Stack) {
    let mut rows = [first.panel; ROWS];
    for i in 0..ROWS {
        // SAFETY: the table has a pointer for each row.
        rows[i] = unsafe { *first.left.add(i) }.wrapping_add(first.offset);
    }
    let (mut panel, mut out) = (first.panel, first.out);
    for _ in 0..stack.count / 2 {
        let mut sums = [[[V::zero(); VECTORS]; ROWS]; 2];
        for k in 0..first.depth {
            for (matrix, sums) in sums.iter_mut().enumerate() {
                for v in 0..VECTORS {
                    let place = matrix * stack.panel + (k * VECTORS + v) * V::LANES;
                    // SAFETY: every matrix has a row of the panel for each step.
                    let right = unsafe { V::load_at(panel.wrapping_add(place)) };
                    for i in 0..ROWS {
                        // SAFETY: every row has a number for each step.
                        let left = V::splat(unsafe { *rows[i].wrapping_add(matrix * stack.offset + k) });
                        sums[i][v] = left.mul_add(right, sums[i][v]);
                    }
                }
            }
        }
        for (matrix, sums) in sums.iter().enumerate() {
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    let place = matrix * stack.out + i * first.stride + v * V::LANES;
                    // SAFETY: the place is the caller's to write.
                    unsafe { sums[i][v].store_at(out.wrapping_add(place)) };
                }
            }
        }
        rows.iter_mut().for_each(|row| *row = row.wrapping_add(2 * stack.offset));
        (panel, out) = (panel.wrapping_add(2 * stack.panel), out.wrapping_add(2 * stack.out));
    }
}
