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
    convert(Level::detect(), out, x, rounded);
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
    convert(Level::detect(), out, x, widened);
}

#[inline(always)]
fn rounded(x: f32) -> bf16 {
    let bits = x.to_bits();
    let near = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // A NaN stays one, without a signal.
    let nan = bits >> 16 | 0x40;
    bf16::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { near } as u16)
}

#[inline(always)]
fn widened(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// Writes what a function makes of each element, in loops over words that become those of a level's vectors.
fn convert<T: Copy + Sync, U: Send>(level: Level, out: &mut [U], x: &[T], f: impl Fn(T) -> U + Copy + Sync) {
    let work = out.len();
    for_each_piece(out, TASK, work, |task, out| {
        dispatch(level, Each { x: &x[task * TASK..][..out.len()], out, f });
    });
}

struct Each<'a, T, U, F> {
    out: &'a mut [U],
    x: &'a [T],
    f: F,
}

impl<T: Copy, U, F: Fn(T) -> U> Kernel for Each<'_, T, U, F> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        self.out.iter_mut().zip(self.x).for_each(|(out, x)| *out = (self.f)(*x));
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
            convert(level, &mut wide, &halves, widened);
            convert(level, &mut near, &numbers, rounded);
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
