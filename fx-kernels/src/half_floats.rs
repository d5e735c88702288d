//! Numbers as half floats and back.

use half::bf16;

use crate::simd::{Kernel, Level, Vector, dispatch};
use crate::threads::for_each_piece;

/// The numbers of a task.
const TASK: usize = 16 * 1024;

/// Writes the nearest bf16, the even one of two that are as near; a NaN stays one.
///
/// ```
/// use fx_kernels::half_floats::round_to_bf16;
/// use half::bf16;
///
/// let mut out = [bf16::ZERO; 2];
/// round_to_bf16(&mut out, &[1.0, 1.005]);
/// assert_eq!(out, [1.0, 1.007_812_5].map(bf16::from_f32));
/// ```
///
/// # Panics
/// If there are fewer numbers.
pub fn round_to_bf16(out: &mut [bf16], x: &[f32]) {
    let (level, work) = (Level::detect(), out.len());
    for_each_piece(out, TASK, work, |task, out| {
        dispatch(level, Round { out, x: &x[task * TASK..] });
    });
}

/// Writes the numbers that bf16 stand for.
///
/// ```
/// use fx_kernels::half_floats::widen_bf16;
/// use half::bf16;
///
/// let mut out = [0.0; 2];
/// widen_bf16(&mut out, &[bf16::ONE, bf16::INFINITY]);
/// assert_eq!(out, [1.0, f32::INFINITY]);
/// ```
///
/// # Panics
/// If there are fewer half floats.
pub fn widen_bf16(out: &mut [f32], x: &[bf16]) {
    let (level, work) = (Level::detect(), out.len());
    for_each_piece(out, TASK, work, |task, out| {
        dispatch(level, Widen { out, x: &x[task * TASK..] });
    });
}

/// Loops over words that become those of a level's vectors.
struct Round<'a> {
    out: &'a mut [bf16],
    x: &'a [f32],
}

impl Kernel for Round<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let x = &self.x[..self.out.len()];
        for (out, x) in self.out.iter_mut().zip(x) {
            let bits = x.to_bits();
            let near = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
            // A NaN stays one, without a signal.
            let nan = bits >> 16 | 0x40;
            *out = bf16::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { near } as u16);
        }
    }
}

/// See [`Round`].
struct Widen<'a> {
    out: &'a mut [f32],
    x: &'a [bf16],
}

impl Kernel for Widen<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let x = &self.x[..self.out.len()];
        for (out, x) in self.out.iter_mut().zip(x) {
            *out = f32::from_bits(u32::from(x.to_bits()) << 16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bf16, and f32 of all exponents on both sides of the middle between two of them.
    #[test]
    fn all_levels_agree_with_half() {
        let halves: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
        let low = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
        let numbers: Vec<f32> =
            (0..=u32::from(u16::MAX)).flat_map(|bits| low.map(|low| f32::from_bits(bits << 16 | low))).collect();
        for level in Level::available() {
            let (mut wide, mut near) = (vec![0.0; halves.len()], vec![bf16::ZERO; numbers.len()]);
            dispatch(level, Widen { out: &mut wide, x: &halves });
            dispatch(level, Round { out: &mut near, x: &numbers });
            for (x, got) in halves.iter().zip(wide) {
                assert!(got == x.to_f32() || got.is_nan() && x.is_nan(), "{level:?} {x}: {got}");
            }
            for (x, got) in numbers.iter().zip(near) {
                let want = bf16::from_f32(*x);
                assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{level:?} {x:e}: {got}");
            }
        }
    }
}
