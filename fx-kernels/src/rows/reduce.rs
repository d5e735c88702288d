//! Sums, means, products and extremes of rows.

use std::ops::Range;

use super::{for_vectors, rows_of, tasks};
use crate::math::Single;
use crate::memory::scratch;
use crate::pairs::widen_pairs;
use crate::simd::{Kernel, Level, MOST_LANES, Vector, dispatch, first, load, store};
use crate::threads::{Shared, for_each};

/// The elements that are reduced before the result is joined with that of others.
const BLOCK: usize = 4096;
/// The columns that a task works on where rows are long, and how long those are.
const COLUMNS: usize = 256;
const WIDE: usize = 4096;
/// The elements of a band of rows otherwise.
const BAND: usize = 16 * 1024;
/// Those of a band that is widened.
const WIDENED: usize = 4 * 1024;
/// The elements of a band that is computed, and the rows that it has at least.
const COMPUTED: usize = 128 * 1024;
const LEAST: usize = 48;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// The product.
    Product,
    /// The largest element; NaN if there is one.
    Max,
    /// The smallest element; NaN if there is one.
    Min,
}

impl Reduction {
    /// What it is of no elements.
    fn start(self) -> f32 {
        match self {
            Self::Sum | Self::Mean => 0.0,
            Self::Product => 1.0,
            Self::Max => f32::NEG_INFINITY,
            Self::Min => f32::INFINITY,
        }
    }

    /// What is done with a part of what is reduced.
    fn of_part(self) -> Self {
        if self == Self::Mean { Self::Sum } else { self }
    }

    #[inline(always)]
    fn join<V: Single>(self, x: V, y: V) -> V {
        match self {
            Self::Sum | Self::Mean => x + y,
            Self::Product => x * y,
            Self::Max => V::select(x.eq(x), x.max(y), x),
            Self::Min => V::select(x.eq(x), x.min(y), x),
        }
    }

    fn join_lanes(self, x: f32, y: f32) -> f32 {
        match self {
            Self::Sum | Self::Mean => x + y,
            Self::Product => x * y,
            Self::Max => {
                if x > y || x.is_nan() {
                    x
                } else {
                    y
                }
            }
            Self::Min => {
                if x < y || x.is_nan() {
                    x
                } else {
                    y
                }
            }
        }
    }
}

/// Reduces the middle of `[outer, len, inner]`; `out` is `[outer, inner]`.
///
/// # Panics
/// If `inner` does not divide the output, or `x` does not have `len` elements for each of its elements.
pub fn reduce(reduction: Reduction, out: &mut [f32], x: &[f32], len: usize, inner: usize) {
    reduce_at(Level::detect(), reduction, out, x, len, inner);
}

/// As [`reduce`], with instructions of the given level.
pub(super) fn reduce_at(level: Level, reduction: Reduction, out: &mut [f32], x: &[f32], len: usize, inner: usize) {
    if out.is_empty() {
        return;
    }
    assert!(inner > 0 && out.len().is_multiple_of(inner), "{inner} columns do not divide {}", out.len());
    assert_eq!(x.len(), out.len() * len, "there are {len} elements for each of {}", out.len());
    let place = Shared(out.as_mut_ptr());
    if inner == 1 {
        tasks(out.len(), len, 2 * x.len(), |row, stop| {
            let x = &x[row * len..stop * len];
            dispatch(level, Rows { reduction, out: place.at(row), x, len, rows: stop - row });
        });
        return;
    }
    let outers = out.len() / inner;
    let each = rows_of(BAND, inner);
    let bands = len.div_ceil(each);
    if inner > WIDE || bands <= 1 {
        let blocks = inner.div_ceil(COLUMNS);
        for_each(outers * blocks, 2 * x.len(), |task| {
            let (outer, column) = (task / blocks, task % blocks * COLUMNS);
            let count = COLUMNS.min(inner - column);
            let x = &x[outer * len * inner..(outer + 1) * len * inner];
            let out = place.at(outer * inner + column);
            dispatch(level, Columns { reduction, of: len, out, x, inner, column, count });
        });
        return;
    }
    // A thread has the rows that it had when they were written, not all rows of some columns.
    in_bands(level, reduction, &place, [outers, len, inner], each, 2 * x.len(), &|rows, reduce| {
        reduce(&x[rows.start * inner..rows.end * inner]);
    });
}

/// Reduces the middle of `[outer, len, inner]` as [`reduce`] does, of words of two bf16 each: an even number of columns.
///
/// # Panics
/// As there.
pub fn reduce_pairs(reduction: Reduction, out: &mut [f32], words: &[f32], len: usize, inner: usize) {
    let (level, half) = (Level::detect(), inner / 2);
    if out.is_empty() || len == 0 {
        return reduce(reduction, out, words, len, inner);
    }
    assert!(
        half > 0 && inner == 2 * half && out.len().is_multiple_of(inner),
        "{inner} columns do not divide {}",
        out.len()
    );
    assert_eq!(words.len(), out.len() / 2 * len, "there are {len} elements for each of {}", out.len());
    let (outers, place) = (out.len() / inner, Shared(out.as_mut_ptr()));
    // What is widened stays in the first-level cache.
    let each = rows_of(WIDENED, inner);
    in_bands(level, reduction, &place, [outers, len, inner], each, 4 * words.len(), &|rows, reduce| {
        let (words, size) = (&words[rows.start * half..rows.end * half], [rows.len(), inner]);
        scratch(size[0] * inner, |numbers| {
            // SAFETY: there are so many words, and places for their numbers.
            unsafe { widen_pairs(level, (numbers.as_mut_ptr(), inner), (words.as_ptr(), half), size) };
            reduce(numbers);
        });
    });
}

/// Whether it is faster to [compute and reduce](reduce_computed) rows of `inner` numbers, each of `inputs`, band by band than all of them
/// before: what a band leaves in the cache is more than the matrix that a product reads again, and images have several bands; where
/// there is no matrix, bands are worth a call.
pub fn reduces_in_cache(inputs: usize, len: usize, inner: usize) -> bool {
    /// The numbers that are worth a call.
    const FEW: usize = 1024;
    let each = computed_rows(inner);
    match inputs {
        1 => inner == 1 || len * inner >= FEW,
        _ => inner > 1 && inputs <= 2 * each && len >= 2 * each,
    }
}

/// Reduces the middle of `[outer, len, inner]` as [`reduce`] does, with `flops` operations for what `compute` writes: some of the
/// `outer * len` rows, a band at a time, which are read while they are in the cache. Where bands begin depends on the sizes only.
///
/// # Panics
/// If `inner` does not divide the output.
pub fn reduce_computed(
    reduction: Reduction,
    out: &mut [f32],
    len: usize,
    inner: usize,
    flops: usize,
    compute: &(dyn Fn(Range<usize>, &mut [f32]) + Sync),
) {
    if out.is_empty() {
        return;
    }
    assert!(inner > 0 && out.len().is_multiple_of(inner), "{inner} columns do not divide {}", out.len());
    if len == 0 {
        return reduce(reduction, out, &[], len, inner);
    }
    if inner == 1 {
        return reduce_numbers(reduction, out, len, flops, compute);
    }
    let (outers, place) = (out.len() / inner, Shared(out.as_mut_ptr()));
    in_bands(Level::detect(), reduction, &place, [outers, len, inner], computed_rows(inner), flops, &|rows, reduce| {
        scratch(rows.len() * inner, |numbers| {
            compute(rows, numbers);
            reduce(numbers);
        });
    });
}

/// Reduces neighbours that are computed: some rows at a time, or blocks of a row, each as [`reduce`] does.
fn reduce_numbers(
    reduction: Reduction,
    out: &mut [f32],
    len: usize,
    flops: usize,
    compute: &(dyn Fn(Range<usize>, &mut [f32]) + Sync),
) {
    let level = Level::detect();
    let reduced = |reduction: Reduction, out: *mut f32, numbers: Range<usize>, len: usize| {
        let rows = numbers.len() / len;
        scratch(numbers.len(), |x| {
            compute(numbers, x);
            dispatch(level, Rows { reduction, out, x, len, rows });
        });
    };
    if len <= BLOCK {
        let (rows, each, place) = (out.len(), BLOCK / len, Shared(out.as_mut_ptr()));
        return for_each(rows.div_ceil(each), flops, |task| {
            let (row, stop) = (task * each, rows.min((task + 1) * each));
            reduced(reduction, place.at(row), row * len..stop * len, len);
        });
    }
    let blocks = len.div_ceil(BLOCK);
    scratch(out.len() * blocks, |parts| {
        let part = Shared(parts.as_mut_ptr());
        for_each(parts.len(), flops, |task| {
            let (row, block) = (task / blocks * len, task % blocks * BLOCK);
            let count = BLOCK.min(len - block);
            reduced(reduction.of_part(), part.at(task), row + block..row + block + count, count);
        });
        for (out, parts) in out.iter_mut().zip(parts.chunks_exact(blocks)) {
            let all = parts.iter().fold(reduction.start(), |all, part| reduction.join_lanes(all, *part));
            *out = if reduction == Reduction::Mean { all / len as f32 } else { all };
        }
    });
}

/// The rows of a band that is computed.
fn computed_rows(inner: usize) -> usize {
    rows_of(COMPUTED, inner).max(LEAST)
}

/// What is done with the rows of a band: what it is given reduces their numbers.
type Band<'a> = dyn Fn(Range<usize>, &dyn Fn(&[f32])) + Sync + 'a;

/// Reduces the rows of `[outer, len, inner]` in bands of so many: `band` is called with the rows of each, and reduces those.
fn in_bands(
    level: Level,
    reduction: Reduction,
    out: &Shared<f32>,
    [outers, len, inner]: [usize; 3],
    each: usize,
    work: usize,
    band: &Band<'_>,
) {
    let bands = len.div_ceil(each);
    scratch(outers * bands * inner, |parts| {
        let part = Shared(parts.as_mut_ptr());
        for_each(outers * bands, work, |task| {
            let (first, index) = (task / bands * len, task % bands);
            let rows = first + index * each..first + len.min((index + 1) * each);
            band(rows, &|x| dispatch(level, Columns::all(reduction.of_part(), len, part.at(task * inner), x, inner)));
        });
        for (outer, parts) in parts.chunks_exact(bands * inner).enumerate() {
            dispatch(level, Columns::all(reduction, len, out.at(outer * inner), parts, inner));
        }
    });
}

/// Contiguous rows.
struct Rows<'a> {
    reduction: Reduction,
    /// A place for each row, which nobody else writes.
    out: *mut f32,
    x: &'a [f32],
    len: usize,
    rows: usize,
}

impl Kernel for Rows<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let mut row = 0;
        while row + V::LANES <= self.rows && self.len <= BLOCK {
            self.several::<V>(row);
            row += V::LANES;
        }
        for row in row..self.rows {
            let mut result = self.reduction.start();
            // Sums of blocks err less than one long sum.
            for block in (0..self.len).step_by(BLOCK) {
                let all = self.lanes::<V>(row * self.len + block, BLOCK.min(self.len - block));
                let all = all.reduce(|x, y| self.reduction.join_lanes(x, y));
                result = self.reduction.join_lanes(result, all);
            }
            let result = if self.reduction == Reduction::Mean { result / self.len as f32 } else { result };
            // SAFETY: there is a place for each row.
            unsafe { *self.out.wrapping_add(row) = result };
        }
    }
}

impl Rows<'_> {
    /// As many results, in lanes, as make one of these neighbours.
    #[inline(always)]
    fn lanes<V: Single>(&self, first_of: usize, len: usize) -> V {
        let start = V::splat(self.reduction.start());
        let from = self.x[first_of..first_of + len].as_ptr();
        let mut parts = [start; 4];
        for_vectors!(V, len, |i, count, part| {
            // SAFETY: `count` elements are left in the row.
            let x = unsafe { load::<V>(from.wrapping_add(i), count) };
            let x = if count < V::LANES { first(x, count, start) } else { x };
            parts[part] = self.reduction.join(parts[part], x);
        });
        let [a, b, c, d] = parts;
        self.reduction.join(self.reduction.join(a, b), self.reduction.join(c, d))
    }

    /// As many rows as there are lanes, from one on: their lanes are joined in the same order as those of a row alone, for all at once.
    #[inline(always)]
    fn several<V: Vector<Elem = f32>>(&self, row: usize) {
        let (mut rows, mut lanes) = ([[0.0; MOST_LANES]; MOST_LANES], [[0.0; MOST_LANES]; MOST_LANES]);
        for (index, lanes) in rows[..V::LANES].iter_mut().enumerate() {
            self.lanes::<V>((row + index) * self.len, self.len).store(lanes);
        }
        // SAFETY: both have as many rows as there are lanes, of as many numbers or more.
        unsafe { V::transpose(rows.as_ptr().cast(), MOST_LANES, lanes.as_mut_ptr().cast(), MOST_LANES) };
        let mut all = [V::zero(); MOST_LANES];
        for (all, lanes) in all[..V::LANES].iter_mut().zip(&lanes) {
            *all = V::load(lanes);
        }
        let mut half = V::LANES / 2;
        while half > 0 {
            for lane in 0..half {
                all[lane] = self.reduction.join(all[lane], all[lane + half]);
            }
            half /= 2;
        }
        let result = self.reduction.join(V::splat(self.reduction.start()), all[0]);
        let of = if self.reduction == Reduction::Mean { self.len as f32 } else { 1.0 };
        // SAFETY: there is a place for each row.
        unsafe { (result / V::splat(of)).store_at(self.out.wrapping_add(row)) };
    }
}

/// Rows that lie beside each other, `inner` elements apart.
struct Columns<'a> {
    reduction: Reduction,
    /// How many elements a mean is of, which may have been joined in part.
    of: usize,
    /// A place for each column, which nobody else writes.
    out: *mut f32,
    x: &'a [f32],
    inner: usize,
    column: usize,
    count: usize,
}

impl Kernel for Columns<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        // Several vectors at a time, for the lines of a row lie side by side, and those of two rows may displace each other in
        // the cache.
        const STRIP: usize = 8;
        let mut at = 0;
        while at + STRIP * V::LANES <= self.count {
            self.strip::<V, STRIP>(at, V::LANES);
            at += STRIP * V::LANES;
        }
        while at < self.count {
            self.strip::<V, 1>(at, V::LANES.min(self.count - at));
            at += V::LANES;
        }
    }
}

impl<'a> Columns<'a> {
    fn all(reduction: Reduction, of: usize, out: *mut f32, x: &'a [f32], inner: usize) -> Self {
        Self { reduction, of, out, x, inner, column: 0, count: inner }
    }
}

impl Columns<'_> {
    /// The columns of a few vectors, or the first `count` of one.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "loops over constants by index become registers")]
    fn strip<V: Single, const VECTORS: usize>(&self, at: usize, count: usize) {
        let start = V::splat(self.reduction.start());
        let (from, len) = (self.x.as_ptr().wrapping_add(self.column + at), self.x.len() / self.inner);
        let mut sums = [start; VECTORS];
        for block in (0..len).step_by(BLOCK) {
            let mut parts = [start; VECTORS];
            for row in block..len.min(block + BLOCK) {
                for v in 0..VECTORS {
                    // SAFETY: the row has so many columns from there on (asserted by the caller).
                    let x = unsafe { load::<V>(from.wrapping_add(row * self.inner + v * V::LANES), count) };
                    parts[v] = self.reduction.join(parts[v], x);
                }
            }
            for v in 0..VECTORS {
                sums[v] = self.reduction.join(sums[v], parts[v]);
            }
        }
        for v in 0..VECTORS {
            if self.reduction == Reduction::Mean {
                sums[v] = sums[v] / V::splat(self.of as f32);
            }
            // SAFETY: there is a place for each column.
            unsafe { store(sums[v], self.out.wrapping_add(at + v * V::LANES), count) };
        }
    }
}
