//! The softmax and its logarithm.

use super::{Input, Pointers, first, for_vectors, load, store, tasks};
use crate::math::{self, Single};
use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::for_each;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softmax {
    /// `exp(x)` over its sum.
    Plain,
    /// The logarithm of that.
    Log,
}

/// Writes the softmax of `x` along the middle of `[outer, len, inner]`.
///
/// # Panics
/// If `x` has another length than `out`, or `len * inner` does not divide it.
pub fn softmax(kind: Softmax, out: &mut [f32], x: Input<'_>, len: usize, inner: usize) {
    softmax_at(Level::detect(), kind, out, x, len, inner);
}

/// As [`softmax`], with instructions of the given level.
pub(super) fn softmax_at(level: Level, kind: Softmax, out: &mut [f32], mut x: Input<'_>, len: usize, inner: usize) {
    let total = out.len();
    if total == 0 {
        return;
    }
    assert!(total.is_multiple_of(len * inner), "rows of {len} by {inner} elements do not divide {total}");
    let at = x.pointers(out);
    if inner == 1 {
        tasks(total / len, len, 16 * total, |row, stop| dispatch(level, Rows { kind, at, len, row, stop }));
        return;
    }
    /// The columns that a task works on.
    const COLUMNS: usize = 64;
    let blocks = inner.div_ceil(COLUMNS);
    for_each(total / (len * inner) * blocks, 16 * total, |task| {
        let column = task % blocks * COLUMNS;
        let count = COLUMNS.min(inner - column);
        let at = at.at(task / blocks * len * inner + column);
        dispatch(level, Columns { kind, at, len, inner, count });
    });
}

/// Contiguous rows.
struct Rows {
    kind: Softmax,
    at: Pointers,
    len: usize,
    row: usize,
    stop: usize,
}

impl Kernel for Rows {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        for row in self.row..self.stop {
            // SAFETY: the operands hold `len` elements a row, and no other task writes these rows.
            unsafe { softmax_row::<V>(self.kind, self.at.at(row * self.len), self.len) };
        }
    }
}

/// # Safety
/// The operands must hold `len` elements, which nobody else writes.
#[inline(always)]
unsafe fn softmax_row<V: Single>(kind: Softmax, at: Pointers, len: usize) {
    let lowest = V::splat(f32::NEG_INFINITY);
    let mut highest = [lowest; 4];
    // A sum of operands is kept in the output, to be read again.
    let again = if at.residual.is_some() { at.out.cast_const() } else { at.x };
    // SAFETY: the caller's promise: all vectors lie within `len`.
    unsafe {
        for_vectors!(V, len, |i, count, part| {
            let x = at.read::<V>(i, count);
            if at.residual.is_some() {
                store(x, at.out.wrapping_add(i), count);
            }
            highest[part] = highest[part].max(if count < V::LANES { first(x, count, lowest) } else { x });
        });
        let highest = highest[0].max(highest[1]).max(highest[2].max(highest[3]));
        let highest = V::splat(highest.reduce(|a, b| if a > b { a } else { b }));
        let mut sums = [V::zero(); 4];
        for_vectors!(V, len, |i, count, part| {
            let x = load::<V>(again.wrapping_add(i), count);
            let power = math::exp(if count < V::LANES { first(x, count, lowest) } else { x } - highest);
            if kind == Softmax::Plain {
                store(power, at.out.wrapping_add(i), count);
            }
            sums[part] = sums[part] + power;
        });
        let sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])).sum();
        let (scale, log) = (V::splat(1.0 / sum), V::splat(sum.ln()));
        for_vectors!(V, len, |i, count, _part| {
            let to = at.out.wrapping_add(i);
            let y = match kind {
                Softmax::Plain => load::<V>(to, count) * scale,
                Softmax::Log => load::<V>(again.wrapping_add(i), count) - highest - log,
            };
            store(y, to, count);
        });
    }
}

/// Rows that lie beside each other, `inner` elements apart.
struct Columns {
    kind: Softmax,
    at: Pointers,
    len: usize,
    inner: usize,
    /// How many there are.
    count: usize,
}

impl Kernel for Columns {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let mut column = 0;
        while column < self.count {
            let count = V::LANES.min(self.count - column);
            // SAFETY: the operands hold `len` rows of `count` columns here, and no other task writes them.
            unsafe { self.vector::<V>(self.at.at(column), count) };
            column += V::LANES;
        }
    }
}

impl Columns {
    /// # Safety
    /// The operands must hold `len` rows of `count` columns, which nobody else writes.
    #[inline(always)]
    unsafe fn vector<V: Single>(&self, at: Pointers, count: usize) {
        let again = if at.residual.is_some() { at.out.cast_const() } else { at.x };
        let places = || (0..self.len).map(|row| row * self.inner);
        // SAFETY: the caller's promise: all vectors lie within the rows.
        unsafe {
            let mut highest = V::splat(f32::NEG_INFINITY);
            for place in places() {
                let x = at.read::<V>(place, count);
                if at.residual.is_some() {
                    store(x, at.out.wrapping_add(place), count);
                }
                highest = highest.max(x);
            }
            let mut sum = V::zero();
            for place in places() {
                let power = math::exp(load::<V>(again.wrapping_add(place), count) - highest);
                if self.kind == Softmax::Plain {
                    store(power, at.out.wrapping_add(place), count);
                }
                sum = sum + power;
            }
            let (scale, log) = (V::splat(1.0) / sum, math::log(sum));
            for place in places() {
                let to = at.out.wrapping_add(place);
                let y = match self.kind {
                    Softmax::Plain => load::<V>(to, count) * scale,
                    Softmax::Log => load::<V>(again.wrapping_add(place), count) - highest - log,
                };
                store(y, to, count);
            }
        }
    }
}
