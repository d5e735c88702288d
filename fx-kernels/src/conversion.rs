//! Numbers of one type as those of another: half floats, and whole numbers.

use half::{bf16, f16};

use crate::simd::{Kernel, Level, MOST_LANES, Vector, dispatch};
use crate::threads::for_each_piece;

/// The numbers of a task.
const TASK: usize = 16 * 1024;

/// Writes the nearest bf16, the even one of two that are as near; a NaN stays one.
///
/// ```
/// use fx_kernels::conversion::round_to_bf16;
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
    convert(Level::detect(), out, x, rounded_to_bf16);
}

/// Writes the numbers that bf16 stand for.
///
/// ```
/// use fx_kernels::conversion::widen_bf16;
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
    convert(Level::detect(), out, x, widened_from_bf16);
}

/// Writes the nearest f16, the even one of two that are as near, or an infinity beyond all; a NaN stays one.
///
/// ```
/// use fx_kernels::conversion::round_to_f16;
/// use half::f16;
///
/// let mut out = [f16::ZERO; 3];
/// round_to_f16(&mut out, &[1.0, 1e-7, 1e6]);
/// assert_eq!(out, [1.0, 1.192_092_9e-7, f32::INFINITY].map(f16::from_f32));
/// ```
///
/// # Panics
/// If there are fewer numbers.
pub fn round_to_f16(out: &mut [f16], x: &[f32]) {
    round_to_f16_at(Level::detect(), out, x);
}

/// As [`round_to_f16`], with instructions of the given level.
fn round_to_f16_at(level: Level, out: &mut [f16], x: &[f32]) {
    in_tasks(out, x, 1, |out, x| dispatch(level, RoundToF16 { out, x }));
}

struct RoundToF16<'a> {
    out: &'a mut [f16],
    x: &'a [f32],
}

impl Kernel for RoundToF16<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let (whole, rest) = self.out.split_at_mut(self.out.len() / V::LANES * V::LANES);
        let (vectors, last) = self.x.split_at(whole.len());
        for (out, x) in whole.chunks_exact_mut(V::LANES).zip(vectors.chunks_exact(V::LANES)) {
            // SAFETY: an f16 is its bits, and there are as many as lanes.
            unsafe { V::load(x).store_f16(out.as_mut_ptr().cast()) };
        }
        rest.iter_mut().zip(last).for_each(|(out, x)| *out = rounded_to_f16(*x));
    }
}

/// Writes the numbers that f16 stand for.
///
/// ```
/// use fx_kernels::conversion::widen_f16;
/// use half::f16;
///
/// let mut out = [0.0; 2];
/// widen_f16(&mut out, &[f16::ONE, f16::MIN_POSITIVE_SUBNORMAL]);
/// assert_eq!(out, [1.0, 5.960_464_5e-8]);
/// ```
///
/// # Panics
/// If there are fewer half floats.
pub fn widen_f16(out: &mut [f32], x: &[f16]) {
    widen_f16_at(Level::detect(), out, x);
}

/// As [`widen_f16`], with instructions of the given level.
fn widen_f16_at(level: Level, out: &mut [f32], x: &[f16]) {
    if !matches!(level, Level::Avx2 | Level::Avx512) {
        return convert(level, out, x, widened_from_f16);
    }
    in_tasks(out, x, 1, |out, x| dispatch(level, WidenF16 { out, x }));
}

/// By a level's own instruction.
struct WidenF16<'a> {
    out: &'a mut [f32],
    x: &'a [f16],
}

impl Kernel for WidenF16<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        let (whole, rest) = self.out.split_at_mut(self.out.len() / V::LANES * V::LANES);
        let (vectors, last) = self.x.split_at(whole.len());
        for (out, x) in whole.chunks_exact_mut(V::LANES).zip(vectors.chunks_exact(V::LANES)) {
            // SAFETY: an f16 is its bits, and there are as many as lanes.
            unsafe { V::load_f16(x.as_ptr().cast()) }.store(out);
        }
        rest.iter_mut().zip(last).for_each(|(out, x)| *out = widened_from_f16(*x));
    }
}

/// Writes the whole parts of numbers, or the integer that is nearest to them; 0 for NaN.
///
/// ```
/// let mut out = [0; 3];
/// fx_kernels::conversion::truncate(&mut out, &[2.9, -0.5, 1e10]);
/// assert_eq!(out, [2, 0, i32::MAX]);
/// ```
///
/// # Panics
/// If there are fewer numbers.
pub fn truncate(out: &mut [i32], x: &[f32]) {
    convert(Level::detect(), out, x, truncated);
}

/// As the conversion of the language, which compilers do number by number.
#[inline(always)]
pub(crate) fn truncated(x: f32) -> i32 {
    /// The least number that is too large, and the one before it.
    const BEYOND: f32 = 2_147_483_648.0;
    const LARGEST: f32 = 2_147_483_520.0;
    let number = if x.is_nan() { 0.0 } else { x };
    let near = if number > LARGEST { LARGEST } else { number };
    let near = if near < -BEYOND { -BEYOND } else { near };
    // SAFETY: it is a number, and its whole part is one of the type's.
    let whole = unsafe { near.to_int_unchecked() };
    if number > LARGEST { i32::MAX } else { whole }
}

/// Without branches, so that many are computed at once.
#[inline(always)]
pub(crate) fn rounded_to_f16(x: f32) -> f16 {
    /// The bits of the least f32 that is too large, and of the least that is not subnormal as an f16.
    const BEYOND: u32 = 143 << 23;
    const NORMAL: u32 = 113 << 23;
    /// 0.5: the last bit of a sum with it is that of subnormal numbers.
    const HALF: u32 = 126 << 23;
    let bits = x.to_bits();
    let (sign, size) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let normal = size.wrapping_sub(112 << 23).wrapping_add(0xfff + (size >> 13 & 1)) >> 13;
    let subnormal = (f32::from_bits(size) + f32::from_bits(HALF)).to_bits().wrapping_sub(HALF);
    let special = if size > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    let finite = if size < NORMAL { subnormal } else { normal };
    f16::from_bits((sign | if size < BEYOND { finite } else { special }) as u16)
}

/// Without branches too.
#[inline(always)]
fn widened_from_f16(x: f16) -> f32 {
    /// The bits of the least f16 that is not subnormal.
    const NORMAL: u32 = 113 << 23;
    let bits = u32::from(x.to_bits());
    let (sign, size) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
    let normal = size + (112 << 23);
    let subnormal = (f32::from_bits(size + NORMAL) - f32::from_bits(NORMAL)).to_bits();
    let special = normal + (112 << 23);
    let finite = if bits & 0x7c00 == 0 { subnormal } else { normal };
    f32::from_bits(sign | if bits & 0x7c00 == 0x7c00 { special } else { finite })
}

#[inline(always)]
fn rounded_to_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let near = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // A NaN stays one, without a signal.
    let nan = bits >> 16 | 0x40;
    bf16::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { near } as u16)
}

#[inline(always)]
fn widened_from_bf16(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// Numbers, at most as many as there are lanes, and zeros after them.
#[inline(always)]
pub(crate) fn wide<V: Vector<Elem = f64>, T: Copy + Into<f64>>(numbers: &[T]) -> V {
    let mut lanes = [0.0; MOST_LANES];
    for (lane, x) in lanes[..V::LANES].iter_mut().zip(numbers) {
        *lane = (*x).into();
    }
    V::load(&lanes)
}

/// Calls `f` with some elements and what they are made of, with so many operations for each.
///
/// # Panics
/// If that is fewer.
pub(crate) fn in_tasks<T: Sync, U: Send>(out: &mut [U], x: &[T], operations: usize, f: impl Fn(&mut [U], &[T]) + Sync) {
    let work = operations * out.len();
    for_each_piece(out, TASK, work, |task, out| {
        let x = &x[task * TASK..][..out.len()];
        f(out, x);
    });
}

/// Writes what a function makes of each element, in loops over words that become those of a level's vectors.
pub(crate) fn convert<T: Copy + Sync, U: Send>(level: Level, out: &mut [U], x: &[T], f: impl Fn(T) -> U + Copy + Sync) {
    in_tasks(out, x, 1, |out, x| dispatch(level, Each { out, x, f }));
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

    #[test]
    fn all_levels_truncate_alike() {
        let numbers: Vec<f32> = (0..=u32::from(u16::MAX)).map(|bits| f32::from_bits(bits << 16 | 0x1234)).collect();
        let want: Vec<i32> = numbers.iter().map(|x| *x as i32).collect();
        for level in Level::available() {
            let mut got = vec![7; numbers.len()];
            convert(level, &mut got, &numbers, truncated);
            assert_eq!(got, want, "{level:?}");
        }
    }

    /// All half floats, and f32 of all exponents on both sides of the middle between two of them.
    #[test]
    fn all_levels_agree_with_half() {
        let low = [0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff];
        let numbers: Vec<f32> =
            (0..=u32::from(u16::MAX)).flat_map(|bits| low.map(|low| f32::from_bits(bits << 16 | low))).collect();
        let round = |level: Level, out: &mut [bf16], x: &[f32]| convert(level, out, x, rounded_to_bf16);
        let widen = |level: Level, out: &mut [f32], x: &[bf16]| convert(level, out, x, widened_from_bf16);
        check(&numbers, bf16::from_bits, bf16::to_bits, bf16::to_f32, widen, bf16::from_f32, round);
        check(&numbers, f16::from_bits, f16::to_bits, f16::to_f32, widen_f16_at, f16::from_f32, round_to_f16_at);
    }

    /// Conversions at each level against those of `half`, which come first.
    fn check<H: Copy + Send + Sync>(
        numbers: &[f32],
        of_bits: fn(u16) -> H,
        bits: fn(H) -> u16,
        to_f32: fn(H) -> f32,
        widen: fn(Level, &mut [f32], &[H]),
        from_f32: fn(f32) -> H,
        round: fn(Level, &mut [H], &[f32]),
    ) {
        let halves: Vec<H> = (0..=u16::MAX).map(of_bits).collect();
        for level in Level::available() {
            let (mut wide, mut near) = (vec![0.0; halves.len()], vec![halves[0]; numbers.len()]);
            widen(level, &mut wide, &halves);
            round(level, &mut near, numbers);
            for (x, got) in halves.iter().zip(wide) {
                let want = to_f32(*x);
                assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{level:?} {want}: {got}");
            }
            for (x, got) in numbers.iter().zip(near) {
                let want = from_f32(*x);
                let both_are_nan = to_f32(want).is_nan() && to_f32(got).is_nan();
                assert!(bits(got) == bits(want) || both_are_nan, "{level:?} {x:e}: {}", to_f32(got));
            }
        }
    }
}
