//! What a matrix unit does, in plain Rust, so that what is built on it is tested on every machine.

use std::cell::Cell;

use half::bf16;

use super::{Between, MatrixUnit, SIDE, Squares};

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
                    let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
                    if whole {
                        total += (0..4).map(|i| i32::from(x[i]) * i32::from(y[i] as i8)).sum::<i32>();
                    } else {
                        let number = |word: [u8; 4], i| f32::from(bf16::from_le_bytes([word[i], word[i + 1]]));
                        sum += number(x, 0) * number(y, 0) + number(x, 2) * number(y, 2);
                    }
                }
            }
            let sum = if whole { f32::from_bits(total as u32) } else { sum };
            // SAFETY: the caller's promise.
            unsafe { sums.add((register * rows + row) * width + column).write(sum) };
        }
    }
}
