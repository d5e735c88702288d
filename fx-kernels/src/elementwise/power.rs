//! Powers, by the functions of f64, which leave all bits of an f32.

use crate::conversion::wide;
use crate::math::double;
use crate::simd::{Kernel, Level, MOST_LANES, Vector, dispatch};
use crate::threads::for_each_piece;

/// The numbers that a thread takes at a time, and the operations on each, nearly.
const PIECE: usize = 4096;
const OPERATIONS: usize = 60;

/// Writes numbers to the power of others: of as many, or of one for all. Each is within one unit in the last place; what is special is as in
/// the C library.
///
/// ```
/// let mut out = [0.0; 3];
/// fx_kernels::elementwise::power(&mut out, &[4.0, -2.0, 0.0], &[0.5, 3.0, -1.0]);
/// assert_eq!(out, [2.0, -8.0, f32::INFINITY]);
/// ```
///
/// # Panics
/// If there are not as many results as numbers, or neither as many exponents nor one.
pub fn power(out: &mut [f32], x: &[f32], exponents: &[f32]) {
    power_at(Level::detect(), out, x, exponents);
}

/// As [`power`], with instructions of the given level.
pub(super) fn power_at(level: Level, out: &mut [f32], x: &[f32], exponents: &[f32]) {
    assert_eq!(out.len(), x.len(), "there are as many results as numbers");
    let is_one = exponents.len() == 1;
    assert!(is_one || exponents.len() == x.len(), "{} exponents for {} numbers", exponents.len(), x.len());
    for_each_piece(out, PIECE, OPERATIONS * x.len(), |piece, out| {
        let some = piece * PIECE..piece * PIECE + out.len();
        let exponents = if is_one { exponents } else { &exponents[some.clone()] };
        dispatch(level, Powers { out, x: &x[some], exponents });
    });
}

struct Powers<'a> {
    out: &'a mut [f32],
    x: &'a [f32],
    exponents: &'a [f32],
}

impl Kernel for Powers<'_> {
    type Elem = f64;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f64>>(self) {
        let (is_one, one) = (self.exponents.len() == 1, V::splat(f64::from(self.exponents[0])));
        let whole = self.x.len() / V::LANES * V::LANES;
        for first in (0..whole).step_by(V::LANES) {
            let some = first..first + V::LANES;
            let y = if is_one { one } else { wide(&self.exponents[some.clone()]) };
            narrow(double::power(wide::<V, f32>(&self.x[some.clone()]), y), &mut self.out[some]);
        }
        if whole < self.x.len() {
            let y = if is_one { one } else { wide(&self.exponents[whole..]) };
            narrow(double::power(wide::<V, f32>(&self.x[whole..]), y), &mut self.out[whole..]);
        }
    }
}

/// Writes numbers, at most as many as there are lanes.
#[inline(always)]
fn narrow<V: Vector<Elem = f64>>(numbers: V, out: &mut [f32]) {
    let mut lanes = [0.0; MOST_LANES];
    numbers.store(&mut lanes);
    for (out, lane) in out.iter_mut().zip(lanes) {
        *out = lane as f32;
    }
}
