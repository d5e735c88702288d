//! Windows that there is no version for.
//!
//! As in a product, the windows' pixels are reached through pointers. A tile is some rows (pixels of the output) by two
//! vectors of channels.

use super::Depthwise;
use crate::dense::block::Block;
use crate::dense::left::Left;
use crate::dense::tile::MOST_ROWS;
use crate::elementwise::run_rows;
use crate::memory::scratch;
use crate::pairs::round_pairs;
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::{Shared, for_each};

/// The rows of a tile: enough sums to hide how long a product takes.
const TILE_ROWS: usize = 6;

/// Computes all windows, into rows that are `stride` apart; what they see and write was checked.
pub(super) fn run(depthwise: &Depthwise<'_>, level: Level, to: &Shared<f32>, stride: usize) {
    /// Tiles that a thread works on at a time.
    const TILES: usize = 8;
    let (left, rows, channels) = (Left::Windows(depthwise.windows), depthwise.rows(), depthwise.channels);
    let block = TILES * TILE_ROWS;
    for_each(rows.div_ceil(block), 8 * rows * channels * left.runs(), |index| {
        let rows = index * block..rows.min((index + 1) * block);
        let tiles = rows.len().div_ceil(TILE_ROWS);
        let tiles = (0..tiles).map(|i| rows.start + i * TILE_ROWS..rows.end.min(rows.start + (i + 1) * TILE_ROWS));
        Block::once(&left, tiles.clone(), |table| {
            for (rows, table) in tiles.zip(table.chunks_exact(left.pointers() * MOST_ROWS)) {
                let place = to.at(rows.start * stride);
                if !depthwise.writes_pairs {
                    // SAFETY: the table points to windows that the images cover, and so do the operands and the result;
                    // no other task has the tile's rows.
                    unsafe { tile(depthwise, level, rows, table, place, stride) };
                    continue;
                }
                let size = [rows.len(), channels];
                scratch(size[0] * size[1], |numbers| {
                    // SAFETY: as above; the numbers are as many.
                    unsafe {
                        tile(depthwise, level, rows, table, numbers.as_mut_ptr(), channels);
                        round_pairs((place, stride), (numbers.as_ptr(), channels), size);
                    }
                });
            }
        });
    });
}

/// Computes a tile, and what else is done with its sums.
///
/// # Safety
/// The table must point to the rows' windows; `out` must be the caller's to write for so many rows.
unsafe fn tile(
    depthwise: &Depthwise<'_>,
    level: Level,
    rows: std::ops::Range<usize>,
    table: &[*const f32],
    out: *mut f32,
    stride: usize,
) {
    let (count, first, table) = (rows.len(), rows.start, table.as_ptr());
    dispatch(level, Job { depthwise, first, rows: count, table, out, stride });
    if let Some(function) = depthwise.epilogue.function() {
        // SAFETY: the caller's promise.
        unsafe { run_rows(level, function, out, count, stride, depthwise.channels) };
    }
}

/// One tile: all channels of some rows.
struct Job<'a> {
    depthwise: &'a Depthwise<'a>,
    first: usize,
    rows: usize,
    table: *const *const f32,
    out: *mut f32,
    stride: usize,
}

impl Kernel for Job<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        if self.rows == TILE_ROWS {
            return self.channels::<V, TILE_ROWS>();
        }
        // The last tile, row by row.
        for i in 0..self.rows {
            let (table, out) = (self.table.wrapping_add(i), self.out.wrapping_add(i * self.stride));
            Job { first: self.first + i, rows: 1, table, out, ..self }.channels::<V, 1>();
        }
    }
}

impl Job<'_> {
    /// All channels, two vectors at a time.
    #[inline(always)]
    fn channels<V: Vector<Elem = f32>, const ROWS: usize>(&self) {
        let channels = self.depthwise.channels;
        let mut channel = 0;
        while channel + 2 * V::LANES <= channels {
            self.some::<V, ROWS, 2, false>(channel);
            channel += 2 * V::LANES;
        }
        if channel + V::LANES <= channels {
            self.some::<V, ROWS, 1, false>(channel);
            channel += V::LANES;
        }
        if channel < channels {
            self.some::<V, ROWS, 1, true>(channel);
        }
    }

    /// Some vectors of channels, of which the last one may be a part.
    ///
    /// The loops over constants are unrolled, so that the sums are registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn some<V, const ROWS: usize, const VECTORS: usize, const PART: bool>(&self, channel: usize)
    where
        V: Vector<Elem = f32>,
    {
        let Depthwise { windows, channels, weights: all, epilogue, .. } = self.depthwise;
        let load = |from: *const f32, v: usize| -> V {
            let from = from.wrapping_add(channel + v * V::LANES);
            // SAFETY: whoever makes a job gives rows of so many channels.
            unsafe { if PART { V::load_first(from, channels - channel) } else { V::load_at(from) } }
        };
        let mut sums = [[V::zero(); VECTORS]; ROWS];
        for tap in 0..windows.runs() {
            let mut weights = [V::zero(); VECTORS];
            for v in 0..VECTORS {
                weights[v] = load(all.as_ptr().wrapping_add(tap * channels), v);
            }
            for i in 0..ROWS {
                // SAFETY: whoever makes a job gives a place for each row of each tap.
                let row = unsafe { *self.table.add(tap * MOST_ROWS + i) };
                for v in 0..VECTORS {
                    sums[i][v] = load(row, v).mul_add(weights[v], sums[i][v]);
                }
            }
        }
        for i in 0..ROWS {
            for v in 0..VECTORS {
                // From the first of all rows on.
                let out = self.out.wrapping_sub(self.first * self.stride);
                let row = |from: *const f32, stride: usize| load(from.wrapping_add((self.first + i) * stride), v);
                let sum = epilogue.finish(sums[i][v], (out, self.stride), row);
                let to = self.out.wrapping_add(i * self.stride + channel + v * V::LANES);
                // SAFETY: as for `load`.
                unsafe { if PART { sum.store_first(to, channels - channel) } else { sum.store_at(to) } };
            }
        }
    }
}
