//! What follows the sums of a tile, while they are in registers.

use std::mem::MaybeUninit;

use super::function::ToPairs;
use super::{LARGEST, Step, Tile};
use crate::elementwise::Unary;
use crate::math::hardswish;
use crate::quantization::Quantization;
use crate::rounded::Rounded;
use crate::simd::Vector;
use crate::threads::Shared;

/// What tiles read and write as words, if the left operand is words of such numbers too.
#[derive(Clone, Copy, Default)]
pub(crate) struct OfWords {
    /// What is added to the sums.
    pub(crate) added: Option<WordMatrix>,
    /// Where they are written.
    pub(crate) written: Option<WordMatrix>,
}

/// A matrix of words of rounded numbers.
#[derive(Clone, Copy)]
pub(crate) struct WordMatrix {
    /// Where it begins.
    pub(crate) first: Shared<u8>,
    /// The distance of its rows, in numbers.
    pub(crate) stride: usize,
    /// What its numbers are rounded to.
    pub(crate) of: Rounded,
}

impl WordMatrix {
    /// The bytes of a number.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        size_of::<f32>() / self.of.numbers()
    }

    /// The place of a row and a column.
    #[inline(always)]
    pub(super) fn at(&self, row: usize, column: usize) -> *mut u8 {
        self.first.at((row * self.stride + column) * self.bytes())
    }
}

impl Tile {
    /// What is added to it, and where it is written, if that is words.
    #[inline(always)]
    pub(super) fn of_words(&self) -> OfWords {
        // SAFETY: who gives a pointer keeps what it points to.
        unsafe { self.words.as_ref() }.copied().unwrap_or_default()
    }
}

/// Writes what the sums of a tile become, from a column of it on. The loops over constants are unrolled, so that the sums are
/// registers.
///
/// # Safety
/// As [`Tile`] says.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
pub(super) unsafe fn finish<V: Vector<Elem = f32>, S: Step<V>, const ROWS: usize, const VECTORS: usize>(
    job: &Tile,
    column: usize,
    mut sums: [[V; VECTORS]; ROWS],
) {
    if S::WHOLE {
        for v in 0..VECTORS {
            // SAFETY: there is a number for each column.
            let scale = unsafe { V::load_at(job.scales.add(column + v * V::LANES)) };
            let bias = match job.bias.is_null() {
                true => V::zero(),
                // SAFETY: as above.
                false => unsafe { V::load_at(job.bias.add(column + v * V::LANES)) },
            };
            for i in 0..ROWS {
                sums[i][v] = sums[i][v].mul_add(scale, bias);
            }
        }
    }
    // Of a panel that has more columns so many of each vector are there.
    let mut counts = [V::LANES; VECTORS];
    for v in 0..VECTORS {
        counts[v] = job.columns.saturating_sub(v * V::LANES).min(V::LANES);
    }
    // Added last, so that the sums of the next steps are no part of the same long chain.
    if job.accumulate {
        for i in 0..ROWS {
            for v in 0..VECTORS {
                // SAFETY: there is a row of the result for each row of the tile.
                let before = unsafe { load::<V>(job.out.add(i * job.stride + column + v * V::LANES), counts[v]) };
                sums[i][v] = sums[i][v] + before;
            }
        }
    }
    if !job.residual.is_null() {
        for i in 0..ROWS {
            for v in 0..VECTORS {
                // SAFETY: as for the start.
                let residual =
                    unsafe { load::<V>(job.residual.add(i * job.residual_stride + column + v * V::LANES), counts[v]) };
                sums[i][v] = sums[i][v] + residual;
            }
        }
    }
    let words = if S::WHOLE || S::PAIRS { job.of_words() } else { OfWords::default() };
    let [row, first] = [job.place[0], job.place[1] + column];
    if let Some(added) = &words.added {
        for i in 0..ROWS {
            // SAFETY: as above.
            let numbers: [V; VECTORS] = unsafe { S::load(added.of, added.at(row + i, first), job.columns) };
            for v in 0..VECTORS {
                sums[i][v] = sums[i][v] + numbers[v];
            }
        }
    }
    if S::APPLIES && job.function == Some(Unary::Hardswish) {
        for i in 0..ROWS {
            for v in 0..VECTORS {
                sums[i][v] = hardswish(sums[i][v]);
            }
        }
    }
    if let Some(matrix @ WordMatrix { of: Rounded::Bytes(of), .. }) = &words.written
        && S::WHOLE
    {
        // SAFETY: the caller's promise.
        return unsafe { put::<V, S, ROWS, VECTORS>(job, (matrix, *of), [row, first], sums) };
    }
    if let Some((low, high)) = job.bounds {
        for i in 0..ROWS {
            for v in 0..VECTORS {
                sums[i][v] = V::splat(high).min(V::splat(low).max(sums[i][v]));
            }
        }
    }
    if let Some(written) = words.written.filter(|_| S::PAIRS) {
        if let Some(function) = job.function.filter(|function| *function != Unary::Hardswish) {
            let mut memory = [MaybeUninit::<f32>::uninit(); LARGEST];
            let numbers = memory.as_mut_ptr().cast::<f32>();
            for i in 0..ROWS {
                for v in 0..VECTORS {
                    // SAFETY: there is room for all of a tile.
                    unsafe { sums[i][v].store_at(numbers.add((i * VECTORS + v) * V::LANES)) };
                }
            }
            let (columns, place) = (job.columns, [row, first]);
            let sums = numbers.cast_const();
            return S::put_function(ToPairs { function, sums, vectors: VECTORS, rows: ROWS, written, place, columns });
        }
        for i in 0..ROWS {
            // SAFETY: the place is the caller's to write.
            unsafe { S::put(sums[i], 0, job.columns, written.at(row + i, first)) };
        }
        return;
    }
    // With a look for all of them, which takes less than masks do.
    if V::MASKS && job.columns < VECTORS * V::LANES {
        for i in 0..ROWS {
            for v in 0..VECTORS {
                // SAFETY: as above.
                unsafe { sums[i][v].store_first(job.out.add(i * job.stride + column + v * V::LANES), counts[v]) };
            }
        }
        return;
    }
    for i in 0..ROWS {
        for v in 0..VECTORS {
            // SAFETY: as above.
            unsafe { sums[i][v].store_at(job.out.add(i * job.stride + column + v * V::LANES)) };
        }
    }
}

/// Reads the first numbers of a vector, or all of them where there are no [masks](Vector::MASKS).
///
/// # Safety
/// They must be there.
#[inline(always)]
unsafe fn load<V: Vector<Elem = f32>>(from: *const f32, count: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { if V::MASKS { V::load_first(from, count) } else { V::load_at(from) } }
}

/// Writes numbers within bounds as bytes, from a row and a column on: bounds of numbers are limits of quotients, whose own lower one
/// the bytes have anyway.
///
/// # Safety
/// There must be such places.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
unsafe fn put<V: Vector<Elem = f32>, S: Step<V>, const ROWS: usize, const VECTORS: usize>(
    job: &Tile,
    (written, of): (&WordMatrix, Quantization),
    [row, column]: [usize; 2],
    mut sums: [[V; VECTORS]; ROWS],
) {
    let (low, high) = of.limits(job.bounds.unwrap_or((f32::NEG_INFINITY, f32::INFINITY)));
    for i in 0..ROWS {
        for v in 0..VECTORS {
            sums[i][v] = of.quotients(sums[i][v]);
        }
    }
    if let Some(low) = low {
        for i in 0..ROWS {
            for v in 0..VECTORS {
                sums[i][v] = V::splat(low).max(sums[i][v]);
            }
        }
    }
    for i in 0..ROWS {
        for v in 0..VECTORS {
            sums[i][v] = of.known(V::splat(high).min(sums[i][v]));
        }
    }
    // What stands for 0 is added only where it is more than that.
    if of.zero() == 0 {
        for i in 0..ROWS {
            // SAFETY: the place is the caller's to write.
            unsafe { S::put(sums[i], 0, job.columns, written.at(row + i, column)) };
        }
    } else {
        for i in 0..ROWS {
            // SAFETY: as above.
            unsafe { S::put(sums[i], of.zero(), job.columns, written.at(row + i, column)) };
        }
    }
}
