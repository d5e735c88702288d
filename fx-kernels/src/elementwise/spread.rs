//! Elements that are met several times in a row, written as often.

use crate::simd::{Kernel, Level, Vector, dispatch};

/// Writes `len` numbers: the element at a place as often as is left of it, and each after it `run` times, from the beginning again
/// after the last one.
///
/// # Safety
/// So many numbers must be writable.
pub(super) unsafe fn spread(
    level: Level,
    to: *mut f32,
    len: usize,
    x: &[f32],
    (place, left): (usize, usize),
    run: usize,
) {
    dispatch(level, Spread { to, len, x, place, left, run });
}

struct Spread<'a> {
    to: *mut f32,
    len: usize,
    x: &'a [f32],
    place: usize,
    left: usize,
    run: usize,
}

impl Kernel for Spread<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { to, len, x, mut place, mut left, run } = self;
        let mut done = 0;
        while done < len {
            let element = V::splat(x[place]);
            let stop = len.min(done + left);
            while done < stop {
                // What is written too far is written once more.
                // SAFETY: within the numbers, as the caller promises.
                unsafe {
                    match done + V::LANES <= len {
                        true => element.store_at(to.add(done)),
                        false => element.store_first(to.add(done), len - done),
                    }
                }
                done += V::LANES;
            }
            done = stop;
            place = if place + 1 == x.len() { 0 } else { place + 1 };
            left = run;
        }
    }
}
