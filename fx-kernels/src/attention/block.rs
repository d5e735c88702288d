//! One head and a block of its queries.

use std::ops::Range;

use super::{Kernel, Mask, Scores, Sizes, Vector};
use crate::math::{self, Single};
use crate::memory::{LINE, Lent};
use crate::rows::first as first_lanes;

/// The keys that are packed at a time: with their values they stay in the second-level cache.
const KEYS: usize = 256;
/// So few queries are not worth packing the keys: they are read where they lie.
const FEW: usize = 3;
/// The most rows of a register tile.
const MOST_ROWS: usize = 14;

/// A head and some of its queries; pointers are to the head's first row.
pub(super) struct Block<'a> {
    pub(super) sizes: Sizes,
    /// With the mask of this head.
    pub(super) scores: Scores<'a>,
    pub(super) out: *mut f32,
    pub(super) out_row: usize,
    pub(super) q: (*const f32, usize),
    pub(super) k: (*const f32, usize),
    pub(super) v: (*const f32, usize),
    /// The queries, of which nobody else writes the results.
    pub(super) rows: Range<usize>,
}

/// The parts of the scratch memory.
struct Parts {
    /// Panels of keys, two vectors of keys wide.
    keys: *mut f32,
    /// Panels of values, two vectors of numbers wide.
    values: *mut f32,
    /// The scores of a tile of queries.
    scores: *mut f32,
    /// The results of a tile of queries.
    results: *mut f32,
    /// A row of the mask.
    mask: *mut f32,
    /// The highest score of each query so far, and the sum of its powers.
    highest: *mut f32,
    sums: *mut f32,
}

impl Kernel for Block<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let panel = 2 * V::LANES;
        let Sizes { keys, width, values, .. } = self.sizes;
        if self.rows.len() <= FEW {
            // SAFETY: the operands were checked to hold all rows.
            return unsafe { self.few::<V>() };
        }
        let values_width = values.next_multiple_of(panel);
        let lens = [
            width * KEYS,
            values_width * KEYS,
            MOST_ROWS * KEYS,
            MOST_ROWS * values_width,
            KEYS,
            self.rows.len(),
            self.rows.len(),
        ];
        let (_memory, parts) = parts(lens);
        let last_key = if matches!(self.scores.mask, Mask::Causal) { keys.min(self.rows.end) } else { keys };
        // SAFETY: the operands were checked to hold all rows, and the scratch memory all parts.
        unsafe {
            let mut first = 0;
            while first < last_key || first == 0 {
                let block = first..last_key.min(first + KEYS);
                self.pack_keys::<V>(&parts, block.clone());
                self.pack_values::<V>(&parts, block.clone());
                let last = block.end == last_key;
                // Tiles of nearly equal size: a last one of few rows would not keep the processor busy.
                let (len, tiles) = (self.rows.len(), self.rows.len().div_ceil(V::ROWS));
                for tile in 0..tiles {
                    let (start, stop) = (tile * len / tiles, (tile + 1) * len / tiles);
                    let row = self.rows.start + start;
                    self.rows_by_keys::<V>(&parts, row, stop - start, block.clone(), last);
                }
                first += KEYS;
            }
        }
    }
}

/// Scratch memory, and the parts of these lengths that it has, each from a line of the cache on.
fn parts(lens: [usize; 7]) -> (Lent, Parts) {
    let mut memory = Lent::new(lens.iter().map(|len| len.next_multiple_of(LINE)).sum());
    let mut next = memory.numbers_mut().as_mut_ptr();
    let [keys, values, scores, results, mask, highest, sums] = lens.map(|len| {
        let part = next;
        next = part.wrapping_add(len.next_multiple_of(LINE));
        part
    });
    (memory, Parts { keys, values, scores, results, mask, highest, sums })
}

impl Block<'_> {
    /// A few queries, one after the other, and all keys.
    ///
    /// # Safety
    /// The operands must hold the rows that the sizes ask for.
    #[inline(always)]
    unsafe fn few<V: Single>(self) {
        let Sizes { keys, width, values, .. } = self.sizes;
        let wide = keys.next_multiple_of(V::LANES);
        let lens = [0, 0, wide, 0, keys, self.rows.len(), self.rows.len()];
        let (_memory, parts) = parts(lens);
        for row in self.rows.clone() {
            let end = if matches!(self.scores.mask, Mask::Causal) { keys.min(row + 1) } else { keys };
            let (q, out) = (self.q.0.wrapping_add(row * self.q.1), self.out.wrapping_add(row * self.out_row));
            // SAFETY: the caller's promise; the scores have room for all keys, in whole vectors.
            unsafe {
                for key in 0..end {
                    *parts.scores.add(key) = dot::<V>(q, self.k.0.add(key * self.k.1), width);
                }
                self.powers::<V>(&parts, parts.scores, row, 0, end);
                let sum = *parts.sums.add(row - self.rows.start);
                let factor = V::splat(if sum == 0.0 { self.scores.empty } else { 1.0 / sum });
                for first in (0..values).step_by(4 * V::LANES) {
                    let mut counts = [0; 4];
                    for (v, count) in counts.iter_mut().enumerate() {
                        *count = values.saturating_sub(first + v * V::LANES).min(V::LANES);
                    }
                    let mut sums = [V::zero(); 4];
                    for key in 0..end {
                        let (power, value) = (V::splat(*parts.scores.add(key)), self.v.0.add(key * self.v.1 + first));
                        for v in 0..4 {
                            let value = V::load_first(value.wrapping_add(v * V::LANES), counts[v]);
                            sums[v] = power.mul_add(value, sums[v]);
                        }
                    }
                    for v in 0..4 {
                        (sums[v] * factor).store_first(out.wrapping_add(first + v * V::LANES), counts[v]);
                    }
                }
            }
        }
    }

    /// Packs keys into panels: number after number, two vectors of keys each; missing keys are zeros.
    ///
    /// # Safety
    /// The keys must be readable, and the panels writable.
    #[inline(always)]
    unsafe fn pack_keys<V: Single>(&self, parts: &Parts, block: Range<usize>) {
        let (width, lanes) = (self.sizes.width, V::LANES);
        let whole = width - width % lanes;
        let mut key = block.start;
        let mut panel = parts.keys;
        while key < block.end {
            for half in 0..2 {
                let from = self.k.0.wrapping_add((key + half * lanes) * self.k.1);
                let to = panel.wrapping_add(half * lanes);
                let count = block.end.saturating_sub(key + half * lanes).min(lanes);
                let squares = if count == lanes { whole } else { 0 };
                // SAFETY: `count` keys are left, and the panel has room for twice as many lanes.
                unsafe {
                    for d in (0..squares).step_by(lanes) {
                        V::transpose(from.add(d), self.k.1, to.add(d * 2 * lanes), 2 * lanes);
                    }
                    for d in squares..width {
                        let to = to.add(d * 2 * lanes);
                        V::zero().store_at(to);
                        for lane in 0..count {
                            *to.add(lane) = *from.add(lane * self.k.1 + d);
                        }
                    }
                }
            }
            key += 2 * lanes;
            panel = panel.wrapping_add(2 * lanes * width);
        }
    }

    /// Packs values into panels: key after key, two vectors of numbers each; missing numbers are zeros.
    ///
    /// # Safety
    /// The values must be readable, and the panels writable.
    #[inline(always)]
    unsafe fn pack_values<V: Single>(&self, parts: &Parts, block: Range<usize>) {
        let (values, lanes) = (self.sizes.values, V::LANES);
        let mut to = parts.values;
        for first in (0..values).step_by(2 * lanes) {
            for key in block.clone() {
                let from = self.v.0.wrapping_add(key * self.v.1 + first);
                for half in [0, lanes] {
                    let count = values.saturating_sub(first + half).min(lanes);
                    // SAFETY: `count` numbers are left in the row.
                    unsafe {
                        let x = if count == lanes {
                            V::load_at(from.add(half))
                        } else {
                            V::load_first(from.wrapping_add(half), count)
                        };
                        x.store_at(to.add(half));
                    }
                }
                to = to.wrapping_add(2 * lanes);
            }
        }
    }

    /// A tile of queries and a block of keys: the scores, their powers, and the values' share of the results.
    ///
    /// # Safety
    /// The block must be packed, and `count` queries be this block's from `row` on.
    #[inline(always)]
    unsafe fn rows_by_keys<V: Single>(&self, parts: &Parts, row: usize, count: usize, block: Range<usize>, last: bool) {
        let Sizes { width, values, .. } = self.sizes;
        let panel = 2 * V::LANES;
        // No key after the last query's own place counts.
        let end = if matches!(self.scores.mask, Mask::Causal) { block.end.min(row + count) } else { block.end };
        let keys = end.saturating_sub(block.start);
        let stride = KEYS;
        // SAFETY: the caller's promise; the scores have room for all rows and keys, padded to whole panels.
        unsafe {
            let q = (self.q.0.wrapping_add(row * self.q.1), self.q.1);
            for first in (0..keys).step_by(panel) {
                let to = (parts.scores.add(first), stride);
                product::<V>(count, q, width, parts.keys.add(first * width), to, false);
            }
            for i in 0..count {
                let scores = parts.scores.add(i * stride);
                let shrink = self.powers::<V>(parts, scores, row + i, block.start, keys);
                if block.start > 0 {
                    // Results so far are relative to a lower score.
                    times::<V>(self.out.wrapping_add((row + i) * self.out_row), values, shrink);
                }
            }
            for (index, first) in (0..values).step_by(panel).enumerate() {
                let right = parts.values.add(index * block.len() * panel);
                let left = (parts.scores.cast_const(), stride);
                let out = self.out.wrapping_add(row * self.out_row + first);
                let columns = panel.min(values - first);
                if columns == panel {
                    product::<V>(count, left, keys, right, (out, self.out_row), block.start > 0);
                    continue;
                }
                product::<V>(count, left, keys, right, (parts.results, panel), false);
                for i in 0..count {
                    for j in 0..columns {
                        let to = out.wrapping_add(i * self.out_row + j);
                        let so_far = if block.start > 0 { *to } else { 0.0 };
                        *to = so_far + *parts.results.add(i * panel + j);
                    }
                }
            }
            if last {
                for i in row..row + count {
                    let sum = *parts.sums.add(i - self.rows.start);
                    let factor = if sum == 0.0 { self.scores.empty } else { 1.0 / sum };
                    times::<V>(self.out.wrapping_add(i * self.out_row), values, factor);
                }
            }
        }
    }

    /// Turns a query's scores into powers relative to the highest score so far; gives the factor for results that are
    /// relative to the highest score before.
    ///
    /// # Safety
    /// The scores of `keys` keys from `first` on must be there, and room for whole vectors.
    #[inline(always)]
    unsafe fn powers<V: Single>(&self, parts: &Parts, scores: *mut f32, row: usize, first: usize, keys: usize) -> f32 {
        let index = row - self.rows.start;
        let counting =
            if matches!(self.scores.mask, Mask::Causal) { keys.min((row + 1).saturating_sub(first)) } else { keys };
        let (scale, lowest) = (V::splat(self.scores.scale), V::splat(f32::NEG_INFINITY));
        // SAFETY: the caller's promise; the mask holds a row for each query.
        unsafe {
            let mask = self.mask_row(parts.mask, row, first, keys);
            let mut highest = lowest;
            for j in (0..keys).step_by(V::LANES) {
                let count = counting.saturating_sub(j).min(V::LANES);
                let mut x = V::load_at(scores.add(j)) * scale;
                if let Some(mask) = mask {
                    let mask = V::load_first(mask.add(j), count);
                    x = if self.scores.hides { V::select(mask.eq(lowest), lowest, x + mask) } else { x + mask };
                }
                if count < V::LANES {
                    x = first_lanes(x, count, lowest);
                }
                x.store_at(scores.add(j));
                highest = highest.max(x);
            }
            let before = if first == 0 { f32::NEG_INFINITY } else { *parts.highest.add(index) };
            let highest = before.max(highest.reduce(|a, b| if a > b { a } else { b }));
            *parts.highest.add(index) = highest;
            // Without any key so far, the powers of minus infinity are 0.
            let base = if highest == f32::NEG_INFINITY { 0.0 } else { highest };
            let mut sum = V::zero();
            for j in (0..keys).step_by(V::LANES) {
                let power = math::exp(V::load_at(scores.add(j)) - V::splat(base));
                power.store_at(scores.add(j));
                sum = sum + power;
            }
            let shrink = if first == 0 || before == base { 1.0 } else { (before - base).exp() };
            let so_far = if first == 0 { 0.0 } else { *parts.sums.add(index) };
            *parts.sums.add(index) = so_far * shrink + sum.sum();
            shrink
        }
    }

    /// A query's row of the mask as numbers to add, if there are any.
    ///
    /// # Safety
    /// `scratch` must hold `keys` numbers.
    unsafe fn mask_row(&self, scratch: *mut f32, row: usize, first: usize, keys: usize) -> Option<*const f32> {
        match self.scores.mask {
            Mask::None | Mask::Causal => None,
            Mask::Add(data, strides, 1) => Some(data[row * strides.row + first..].as_ptr()),
            Mask::Add(data, strides, step) => {
                for j in 0..keys {
                    // SAFETY: the caller's promise.
                    unsafe { *scratch.add(j) = data[row * strides.row + (first + j) * step] };
                }
                Some(scratch)
            }
            Mask::Keep(data, strides, step) => {
                for j in 0..keys {
                    let keep = data[row * strides.row + (first + j) * step];
                    // SAFETY: the caller's promise.
                    unsafe { *scratch.add(j) = if keep { 0.0 } else { f32::NEG_INFINITY } };
                }
                Some(scratch)
            }
        }
    }
}

/// The sum of the products of two rows.
///
/// # Safety
/// Both must have `len` numbers.
#[inline(always)]
unsafe fn dot<V: Single>(x: *const f32, y: *const f32, len: usize) -> f32 {
    let mut sums = [V::zero(); 2];
    for (part, i) in (0..len).step_by(V::LANES).enumerate() {
        let count = V::LANES.min(len - i);
        // SAFETY: `count` numbers are left.
        let (x, y) = unsafe { (V::load_first(x.wrapping_add(i), count), V::load_first(y.wrapping_add(i), count)) };
        sums[part % 2] = x.mul_add(y, sums[part % 2]);
    }
    (sums[0] + sums[1]).sum()
}

/// Multiplies a row.
///
/// # Safety
/// The row must have `len` numbers.
#[inline(always)]
unsafe fn times<V: Single>(row: *mut f32, len: usize, factor: f32) {
    let factor = V::splat(factor);
    let mut i = 0;
    while i < len {
        let count = V::LANES.min(len - i);
        // SAFETY: `count` numbers are left.
        unsafe { (V::load_first(row.wrapping_add(i), count) * factor).store_first(row.wrapping_add(i), count) };
        i += V::LANES;
    }
}

/// A register tile of a product: rows at equal distances times a panel of two vectors.
///
/// # Safety
/// The left rows and the panel must hold `depth` numbers and rows, the result `count` rows of two vectors; `count` is
/// at most `V::ROWS`.
#[inline(always)]
unsafe fn product<V: Single>(
    count: usize,
    left: (*const f32, usize),
    depth: usize,
    panel: *const f32,
    out: (*mut f32, usize),
    accumulate: bool,
) {
    macro_rules! with_rows {
        ($($rows:literal)*) => {
            match count {
                // SAFETY: the caller's promise.
                $($rows if $rows <= V::ROWS => unsafe { tile::<V, $rows>(left, depth, panel, out, accumulate) },)*
                count => unreachable!("a tile of {count} rows"),
            }
        };
    }
    with_rows!(1 2 3 4 5 6 7 8 9 10 11 12 13 14);
}

/// # Safety
/// As [`product`], for `ROWS` rows.
#[inline(always)]
unsafe fn tile<V: Single, const ROWS: usize>(
    left: (*const f32, usize),
    depth: usize,
    panel: *const f32,
    out: (*mut f32, usize),
    accumulate: bool,
) {
    let mut sums = [[V::zero(); 2]; ROWS];
    let place = |i: usize, v: usize| out.0.wrapping_add(i * out.1 + v * V::LANES);
    // SAFETY: the caller's promise.
    unsafe {
        if accumulate {
            for (i, sums) in sums.iter_mut().enumerate() {
                *sums = [V::load_at(place(i, 0)), V::load_at(place(i, 1))];
            }
        }
        for k in 0..depth {
            let right = panel.add(k * 2 * V::LANES);
            let right = [V::load_at(right), V::load_at(right.add(V::LANES))];
            for (i, sums) in sums.iter_mut().enumerate() {
                let left = V::splat(*left.0.add(i * left.1 + k));
                sums[0] = left.mul_add(right[0], sums[0]);
                sums[1] = left.mul_add(right[1], sums[1]);
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            sums[0].store_at(place(i, 0));
            sums[1].store_at(place(i, 1));
        }
    }
}
