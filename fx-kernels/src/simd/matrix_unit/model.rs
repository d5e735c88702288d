//! What a matrix unit does, in plain Rust, so that what is built on it is tested on every machine.

use std::cell::Cell;

use super::{Between, MatrixUnit, Meanwhile, Place, SIDE, SplitSquares, Squares};
use crate::simd::{Level, PIECES, PRODUCTS, PairKernel, Pairs, Splits, dispatch_pairs, has_pairs};

thread_local! {
    static CHOSEN: Cell<Option<Option<MatrixUnit>>> = const { Cell::new(None) };
}

/// The unit that a test asked for, or none, if it asked.
pub(super) fn chosen() -> Option<Option<MatrixUnit>> {
    CHOSEN.get()
}

/// See [`MatrixUnit::with`].
pub(super) fn with<R>(unit: Option<MatrixUnit>, f: impl FnOnce() -> R) -> R {
    struct Back(Option<Option<MatrixUnit>>);
    impl Drop for Back {
        fn drop(&mut self) {
            CHOSEN.set(self.0);
        }
    }
    let _back = Back(CHOSEN.replace(Some(unit)));
    f()
}

/// See [`Registers::multiply`](super::Registers::multiply).
pub(super) unsafe fn multiply([rows, depth]: [usize; 2], squares: &Squares<'_>, between: Between<'_>) {
    let Squares { whole, left, distance, runs, len, panel, wide, sums, .. } = *squares;
    let width = if wide { 2 * SIDE } else { SIDE };
    (0..runs.len() * len.div_ceil(depth) / between.steps).for_each(|_| (between.call)());
    for (register, left) in left.into_iter().enumerate().filter(|(_, left)| !left.is_null()) {
        for (row, column) in (0..rows).flat_map(|row| (0..width).map(move |column| (row, column))) {
            let (mut sum, mut total) = (0.0, 0);
            for (run, start) in runs.iter().enumerate() {
                for k in 0..len.next_multiple_of(depth) {
                    // SAFETY: the caller's promise.
                    let (x, y) = unsafe {
                        let x = left.add(row * distance + start + k).read().to_bits();
                        (x, panel.add((run * len + k) * width + column).read().to_bits())
                    };
                    if whole {
                        let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
                        total += (0..4).map(|i| i32::from(x[i]) * i32::from(y[i] as i8)).sum::<i32>();
                    } else {
                        let ([a, b], [c, d]) = (numbers(x), numbers(y));
                        sum += a * c + b * d;
                    }
                }
            }
            let sum = if whole { f32::from_bits(total as u32) } else { sum };
            // SAFETY: the caller's promise.
            unsafe { sums.add((register * rows + row) * width + column).write(sum) };
        }
    }
}

/// See [`Registers::multiply_meanwhile`](super::Registers::multiply_meanwhile).
pub(super) unsafe fn multiply_meanwhile<M: Meanwhile>(
    [rows, depth]: [usize; 2],
    squares: &Squares<'_>,
    meanwhile: &mut M,
    each: usize,
) {
    struct More<'a, M>(&'a mut M, usize);
    impl<M: Meanwhile> PairKernel for More<'_, M> {
        #[inline(always)]
        fn run<V: Pairs>(self) {
            // SAFETY: the promise of who calls `multiply_meanwhile`.
            unsafe { self.0.some::<V>(self.1) };
        }
    }
    if has_pairs(Level::detect()) {
        dispatch_pairs(More(meanwhile, each));
    }
    // SAFETY: the caller's promise.
    unsafe { multiply([rows, depth], squares, Between { steps: 1, call: &mut || () }) };
}

/// The bf16 of a word.
fn numbers(word: u32) -> [f32; 2] {
    [word << 16, word & 0xffff_0000].map(f32::from_bits)
}

/// See [`Registers::multiply_pieces`](super::Registers::multiply_pieces).
pub(super) unsafe fn multiply_pieces<S: Splits>(
    [rows, depth]: [usize; 2],
    pieces: SplitSquares<'_, S>,
    between: Between<'_>,
) {
    let SplitSquares { all, tall, panel, wide, distance, runs, len, plane, piece, keeps, soon, .. } = pieces;
    let width = if wide { 2 * SIDE } else { SIDE };
    for Place { left, sums } in all {
        (0..runs.len() * len.div_ceil(depth) / between.steps).for_each(|_| (between.call)());
        for (register, left) in left.iter().enumerate().take(if tall { 2 } else { 1 }) {
            for (row, column) in (0..rows).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let to = sums.wrapping_add((register * rows + row) * width + column);
                // SAFETY: the caller's promise.
                let mut sum = if keeps { unsafe { to.read() } } else { 0.0 };
                for (run, start) in runs.iter().enumerate() {
                    for (register, k) in (0..len).step_by(depth).enumerate() {
                        for [i, j] in PRODUCTS {
                            let left = left.wrapping_add(row * distance + start + (register * PIECES + i) * plane);
                            let panel = panel.wrapping_add((run * len + k) * width + column + j * piece);
                            // The products of a register are added up before.
                            let mut sums = [0.0; 2];
                            for k in 0..depth {
                                // SAFETY: the caller's promise.
                                let [x, y] = unsafe { [left.add(k).read(), panel.add(k * width).read()] };
                                let (x, y) = (numbers(x.to_bits()), numbers(y.to_bits()));
                                (0..2).for_each(|half| sums[half] += x[half] * y[half]);
                            }
                            sum += sums[0] + sums[1];
                        }
                    }
                }
                // SAFETY: the caller's promise.
                unsafe { to.write(sum) };
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { std::mem::replace(soon, S::NOTHING).all() };
}
