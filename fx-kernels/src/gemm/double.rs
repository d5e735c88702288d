//! The product of f64, by the scheme of Goto and van de Geijn (2008): a block of the inner dimension at a time, both
//! operands are packed into panels as wide as a register tile, and a kernel keeps one tile of the result in registers
//! while it runs down a pair of panels.

use super::{Many, Matrix};
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each, for_each_piece};

/// The length of a block of the inner dimension: a panel of it stays in the first-level cache.
const BLOCK_K: usize = 320;
/// The columns of `b` that one task works on: their panels stay in the second-level cache.
const BLOCK_N: usize = 256;
/// The rows of `a` that one task works on.
const BLOCK_M: usize = 112;
/// The most rows and columns of a tile at any level.
const MOST: [usize; 2] = [12, 16];

impl Many for f64 {
    fn many(level: Level, c: &mut [f64], stride: usize, accumulate: bool, a: Matrix<'_, f64>, b: Matrix<'_, f64>) {
        let (m, n, k) = (a.rows, b.cols, a.cols);
        let [mr, nr] = dispatch(level, Size);
        let (panels_m, panels_n) = (m.div_ceil(mr), n.div_ceil(nr));
        let block_k = k.div_ceil(k.div_ceil(BLOCK_K));
        let (task_m, task_n) = (BLOCK_M / mr, BLOCK_N / nr);
        let (tasks_m, tasks_n) = (panels_m.div_ceil(task_m), panels_n.div_ceil(task_n));
        let (mut left, mut right) = (vec![0.0; panels_m * mr * block_k], vec![0.0; panels_n * nr * block_k]);
        let c = Shared(c.as_mut_ptr());
        for start in (0..k).step_by(block_k) {
            let depth = block_k.min(k - start);
            pack(&mut left, a, mr, start, depth);
            pack(&mut right, b.t(), nr, start, depth);
            let accumulate = accumulate || start > 0;
            for_each(tasks_m * tasks_n, 2 * m * n * depth, |task| {
                let (first_i, first_j) = (task % tasks_m * task_m, task / tasks_m * task_n);
                for i in first_i..panels_m.min(first_i + task_m) {
                    for j in first_j..panels_n.min(first_j + task_n) {
                        let (a, b) = (&left[i * mr * depth..][..mr * depth], &right[j * nr * depth..][..nr * depth]);
                        let mut tile = [0.0; MOST[0] * MOST[1]];
                        dispatch(level, Tile { a, b, tile: &mut tile });
                        let width = nr.min(n - j * nr);
                        for (row, tile) in tile.chunks_exact(nr).take(mr.min(m - i * mr)).enumerate() {
                            // SAFETY: the tile lies within `c` (checked by the caller), and tiles are disjoint.
                            let out = unsafe {
                                std::slice::from_raw_parts_mut(c.at((i * mr + row) * stride + j * nr), width)
                            };
                            for (out, sum) in out.iter_mut().zip(tile) {
                                *out = if accumulate { *out + sum } else { *sum };
                            }
                        }
                    }
                }
            });
        }
    }
}

/// Copies columns `start..start + depth` of a matrix into panels of `width` rows, column after column; the last
/// panel is filled up with zeros.
fn pack(out: &mut [f64], x: Matrix<'_, f64>, width: usize, start: usize, depth: usize) {
    let panel = width * depth;
    let len = x.rows.div_ceil(width) * panel;
    for_each_piece(&mut out[..len], panel, 4 * len, |index, out| {
        for (i, row) in (index * width..).take(width).enumerate() {
            let from = row * x.row_stride + start * x.col_stride;
            let out = out[i..].iter_mut().step_by(width);
            if row < x.rows {
                out.enumerate().for_each(|(p, out)| *out = x.data[from + p * x.col_stride]);
            } else {
                out.for_each(|out| *out = 0.0);
            }
        }
    });
}

/// The rows and columns of a level's tile.
struct Size;

impl Kernel for Size {
    type Elem = f64;
    type Output = [usize; 2];

    #[inline(always)]
    fn run<V: Vector<Elem = f64>>(self) -> [usize; 2] {
        [V::ROWS, 2 * V::LANES]
    }
}

/// A tile: the sums of the products of two panels, row after row.
struct Tile<'a> {
    a: &'a [f64],
    b: &'a [f64],
    tile: &'a mut [f64; MOST[0] * MOST[1]],
}

impl Kernel for Tile<'_> {
    type Elem = f64;
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn run<V: Vector<Elem = f64>>(self) {
        let width = 2 * V::LANES;
        let mut sums = [[V::zero(); 2]; MOST[0]];
        for (a, b) in self.a.chunks_exact(V::ROWS).zip(self.b.chunks_exact(width)) {
            let b = [V::load(b), V::load(&b[V::LANES..])];
            for i in 0..V::ROWS {
                let x = V::splat(a[i]);
                sums[i] = [x.mul_add(b[0], sums[i][0]), x.mul_add(b[1], sums[i][1])];
            }
        }
        for i in 0..V::ROWS {
            sums[i][0].store(&mut self.tile[i * width..]);
            sums[i][1].store(&mut self.tile[i * width + V::LANES..]);
        }
    }
}
