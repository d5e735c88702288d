//! Elements, or rows of them, that are met several times in a row, written as often.

use crate::simd::{Kernel, Vector};

/// Writes `len` numbers to `to`, which must be writable for as many: the element at `place` for the `left` times that are left of
/// it, and each after it `run` times, from the beginning again after the last one.
pub(super) struct Spread<'a> {
    pub(super) to: *mut f32,
    pub(super) len: usize,
    pub(super) x: &'a [f32],
    pub(super) place: usize,
    pub(super) left: usize,
    pub(super) run: usize,
}

impl Kernel for Spread<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { to, len, x, mut place, mut left, run } = self;
        let (whole_vectors, mut done) = (run.is_multiple_of(V::LANES), 0);
        while done < len {
            let element = V::splat(x[place]);
            let stop = len.min(done + left);
            while done < stop {
                // What is written too far is written once more.
                // SAFETY: within the numbers, which the struct says may be written.
                unsafe {
                    match done + V::LANES <= len {
                        true => element.store_at(to.add(done)),
                        false => element.store_first(to.add(done), len - done),
                    }
                }
                done += V::LANES;
            }
            done = stop;
            place += 1;
            let whole = if whole_vectors { (len - done) / run } else { 0 };
            for element in x[place..].iter().take(whole) {
                for vector in 0..run / V::LANES {
                    // SAFETY: as above; all of this element is within the numbers.
                    unsafe { V::splat(*element).store_at(to.add(done + vector * V::LANES)) };
                }
                (done, place) = (done + run, place + 1);
            }
            place = if place == x.len() { 0 } else { place };
            left = run;
        }
    }
}

/// Writes `len` numbers to `to`, which must be writable for as many: rows of `row` elements, each `times` in a row, from the first one
/// again after the last, beginning with number `start`.
pub(super) struct Again<'a> {
    pub(super) to: *mut f32,
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) x: &'a [f32],
    pub(super) row: usize,
    pub(super) times: usize,
}

impl Kernel for Again<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let Self { to, start, len, x, row, times } = self;
        let (mut first, mut time, mut offset) =
            (start / (row * times) * row % x.len(), start / row % times, start % row);
        let mut done = 0;
        while done < len {
            let stop = len.min(done + row - offset);
            while done < stop {
                let (from, left) = (first + offset, len - done);
                // What is written too far is written once more.
                // SAFETY: within the operand, and within the numbers, which the struct says may be written.
                unsafe {
                    match from + V::LANES <= x.len() && left >= V::LANES {
                        true => V::load_at(x.as_ptr().add(from)).store_at(to.add(done)),
                        false => {
                            let count = V::LANES.min(left).min(x.len() - from);
                            V::load_first(x.as_ptr().add(from), count).store_first(to.add(done), count);
                        }
                    }
                }
                (done, offset) = (done + V::LANES, offset + V::LANES);
            }
            (done, offset, time) = (stop, 0, time + 1);
            if time == times {
                (time, first) = (0, first + row);
                first = if first == x.len() { 0 } else { first };
            }
        }
    }
}
