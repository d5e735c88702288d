//! Products of pairs of bf16 by the processor's matrix unit.
//!
//! A panel of queries, and of their powers, is what the unit has on the right as it is. On the left are keys, as rows, and values, as
//! a row for each of their numbers; both are copied, filled up with zeros to whole registers.

use super::Vector;
use super::block::KEYS;
use super::tile::Factors;
use super::words::Words;
use crate::math::Single;
use crate::pairs::round_to_pairs;
use crate::simd::{Between, MatrixUnit, Registers, SIDE, Squares, row_distance};

/// The words of a block of keys, which are the length of a row of values.
const WORDS: usize = KEYS / 2;

/// The registers for a block of queries.
pub(super) struct OnUnit(Registers);

/// Where rows begin, and how far apart they are.
type Rows = (*const f32, usize);

impl OnUnit {
    pub(super) fn new(unit: MatrixUnit) -> Self {
        Self(unit.registers(SIDE, SIDE))
    }

    /// The numbers that a block's copies of keys of so many words and of values take, and the rows of a panel of queries.
    pub(super) fn sizes(words: usize, values: usize) -> [usize; 3] {
        [KEYS * row_distance(words), values.next_multiple_of(SIDE) * row_distance(WORDS), words.next_multiple_of(SIDE)]
    }

    /// Fills a panel of so many rows up with zeros.
    ///
    /// # Safety
    /// There must be room for them.
    pub(super) unsafe fn pad(&self, panel: *mut f32, rows: usize, width: usize) {
        // SAFETY: the caller's promise.
        unsafe { panel.add(rows * width).write_bytes(0, (rows.next_multiple_of(SIDE) - rows) * width) };
    }

    /// Copies so many keys and values, which have so many numbers each, rounded.
    ///
    /// # Safety
    /// There must be such keys and values, and room for as much as [`sizes`](Self::sizes) says.
    #[inline(always)]
    pub(super) unsafe fn copy<V: Single, W: Words<V>>(
        &self,
        (k, width, keys): (Rows, usize, *mut f32),
        (v, values, to): (Rows, usize, *mut f32),
        count: usize,
    ) {
        if count == 0 {
            return;
        }
        let (words, apart) = (W::count(width), row_distance(W::count(width)));
        // SAFETY: the caller's promise; a last row may end where its operand does.
        unsafe {
            if width > 0 {
                let from = std::slice::from_raw_parts(k.0, (count - 1) * k.1 + width);
                let copy = std::slice::from_raw_parts_mut(keys, count * apart);
                round_to_pairs(copy, apart, from, k.1, width);
                if words < apart {
                    copy.chunks_exact_mut(apart).for_each(|key| key[words..].fill(0.0));
                }
            }
            // Squares of words: a row for two keys, and then for each of the values' numbers.
            let mut square = [0.0; SIDE * SIDE];
            let number = |key: usize, first: usize| match key < count {
                true => V::load_first(v.0.add(key * v.1 + first), (values - first).min(SIDE)),
                false => V::zero(),
            };
            for first in (0..values).step_by(SIDE) {
                for word in (0..W::count(count)).step_by(SIDE) {
                    for (row, to) in square.chunks_exact_mut(SIDE).enumerate() {
                        let key = 2 * (word + row);
                        W::of(number(key, first), number(key + 1, first)).store(to);
                    }
                    V::transpose(
                        square.as_ptr(),
                        SIDE,
                        to.add(first * row_distance(WORDS) + word),
                        row_distance(WORDS),
                    );
                }
            }
        }
    }

    /// The scores of so many copied keys, of so many words, with a panel of queries: as many rows of its width.
    ///
    /// # Safety
    /// There must be a panel, [filled up](Self::pad), and room for a block of scores.
    pub(super) unsafe fn scores(
        &self,
        keys: *const f32,
        count: usize,
        words: usize,
        (panel, width): (*const f32, usize),
        scores: *mut f32,
    ) {
        let rows = (keys, row_distance(words));
        for first in (0..count).step_by(2 * SIDE) {
            let two = first + SIDE < count;
            // SAFETY: the caller's promise: keys and scores have room for whole registers of rows.
            unsafe { self.multiply(rows, (first, two), words, (panel, width), scores.add(first * width)) };
        }
    }

    /// Adds the products of copied values with a panel of powers, of so many words, to `before` times the results, and multiplies them by
    /// `after`.
    ///
    /// # Safety
    /// There must be such a panel with room to fill it up, and results for all values.
    #[inline(always)]
    pub(super) unsafe fn results<V: Vector<Elem = f32>>(
        &self,
        (copy, values): (*const f32, usize),
        (powers, words): (*mut f32, usize),
        (results, width): (*mut f32, usize),
        before: Option<&Factors>,
        after: Option<&Factors>,
    ) {
        let mut products = [0.0; 4 * SIDE * SIDE];
        // SAFETY: the caller's promise.
        unsafe {
            self.pad(powers, words, width);
            for first in (0..values).step_by(2 * SIDE) {
                let two = first + SIDE < values;
                let rows = (copy, row_distance(WORDS));
                self.multiply(rows, (first, two), words, (powers, width), products.as_mut_ptr());
                for row in 0..(values - first).min(2 * SIDE) {
                    for lane in (0..width).step_by(V::LANES) {
                        let to = results.add((first + row) * width + lane);
                        let mut product = V::load(&products[row * width + lane..]);
                        if let Some(before) = before {
                            product = V::load_at(to).mul_add(V::load(&before[lane..]), product);
                        }
                        if let Some(after) = after {
                            product = product * V::load(&after[lane..]);
                        }
                        product.store_at(to);
                    }
                }
            }
        }
    }

    /// The products of one or two registers of rows with a panel.
    ///
    /// # Safety
    /// As for [`Registers::multiply`].
    unsafe fn multiply(
        &self,
        (rows, distance): Rows,
        (first, two): (usize, bool),
        words: usize,
        (panel, width): (*const f32, usize),
        sums: *mut f32,
    ) {
        let upper = rows.wrapping_add(first * distance);
        let lower = if two { upper.wrapping_add(SIDE * distance) } else { std::ptr::null() };
        let squares = Squares {
            whole: false,
            left: [upper, lower],
            distance,
            again: [false, true],
            runs: &[0],
            len: words,
            panel,
            wide: width > SIDE,
            next: std::ptr::null(),
            lines: 0,
            sums,
        };
        // SAFETY: the caller's promise.
        unsafe { self.0.multiply(&squares, Between { steps: usize::MAX, call: &mut || {} }) };
    }
}
