//! Integers in the same place: what compilers do number by number where they may not take a processor's own instructions.

use crate::simd::{Kernel, Level, Vector, dispatch};

/// Writes the larger of two integers each.
///
/// # Panics
/// If the operands are not as long as what is written.
pub fn larger(out: &mut [i64], x: &[i64], y: &[i64]) {
    each(Level::detect(), out, x, y, i64::max);
}

/// Writes the smaller of two integers each.
///
/// # Panics
/// As [`larger`].
pub fn smaller(out: &mut [i64], x: &[i64], y: &[i64]) {
    each(Level::detect(), out, x, y, i64::min);
}

pub(super) fn each(level: Level, out: &mut [i64], x: &[i64], y: &[i64], f: impl Fn(i64, i64) -> i64) {
    assert!(x.len() == out.len() && y.len() == out.len(), "there are as many integers on both sides as results");
    dispatch(level, Each { out, x, y, f });
}

struct Each<'a, F> {
    out: &'a mut [i64],
    x: &'a [i64],
    y: &'a [i64],
    f: F,
}

impl<F: Fn(i64, i64) -> i64> Kernel for Each<'_, F> {
    type Elem = f64;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f64>>(self) {
        for ((out, x), y) in self.out.iter_mut().zip(self.x).zip(self.y) {
            *out = (self.f)(*x, *y);
        }
    }
}
