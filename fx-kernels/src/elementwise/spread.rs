//! Elements that are met several times in a row, written as often.

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
