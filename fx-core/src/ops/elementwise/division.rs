//! Division, and what division leaves: quotients that are rounded, and remainders.

use std::borrow::Cow;

use fx_kernels::elementwise::Binary;

use super::eval::{Number, arithmetic, by_kernel, numbers, operands};
use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::shape::float_of;
use crate::tensor::num::Real;
use crate::tensor::{DType, Tensor, iter};

pub(super) fn div(a: Number<'_>, b: Number<'_>, rounding_mode: Option<Cow<'static, str>>) -> Result<Tensor> {
    let (x, y) = operands(&a, &b);
    Ok(match rounding_mode.as_deref() {
        None => {
            let dtype = float_of(x.dtype());
            quotient(&x.to_dtype(dtype), &y.to_dtype(dtype))
        }
        Some(_) if divides_by_zero(&y) => return Err(by_zero()),
        Some("trunc") => arithmetic(&x, &y, |x, y| (x / y).trunc(), |x, y| (x / y).trunc(), truncating),
        Some(_) => floor_quotient(&x, &y),
    })
}

/// The quotients of the elements in the same place after broadcasting, which are floats of one type.
pub(in crate::ops) fn quotient(x: &Tensor, y: &Tensor) -> Tensor {
    by_kernel(Binary::Div, x, y, |x, y| x / y, |x, y| x / y, |x, _| x)
}

/// Whether an integer divisor is zero somewhere; floats have infinities and NaN for it.
fn divides_by_zero(y: &Tensor) -> bool {
    !y.dtype().is_float()
        && y.to_dtype(DType::I64).contiguous().as_slice::<i64>().is_some_and(|elements| elements.contains(&0))
}

fn by_zero() -> Error {
    Error::argument("integers cannot be divided by zero")
}

fn truncating(x: i64, y: i64) -> i64 {
    if y == 0 { 0 } else { x.wrapping_div(y) }
}

fn flooring(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let quotient = x.wrapping_div(y);
    if x.wrapping_rem(y) != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
}

/// A function of a dividend, a divisor, and what the truncated quotient leaves. Of integers `int`.
fn of_rest(
    x: &Tensor,
    y: &Tensor,
    f32: impl Fn(f32, f32, f32) -> f32,
    f64: impl Fn(f64, f64, f64) -> f64,
    int: impl Fn(i64, i64) -> i64,
) -> Tensor {
    if x.dtype() != DType::F32 || y.dtype() != DType::F32 {
        return arithmetic(x, y, |x, y| f32(x, y, x % y), |x, y| f64(x, y, x % y), int);
    }
    iter::zip_pieces::<f32, f32, f32>(x, y, |x, y, out| {
        rests(x, y, out);
        for ((x, y), out) in x.iter().zip(y).zip(out) {
            *out = f32(*x, *y, *out);
        }
    })
}

/// What truncated quotients leave, exactly: `x % y`, many at once. Where a quotient is too large for that, or there is none,
/// its piece is computed number by number.
fn rests(x: &[f32], y: &[f32], out: &mut [f32]) {
    const PIECE: usize = 64;
    /// Quotients up to here have the bits of an f64 that their products with the divisor and their last one need.
    const LIMIT: f64 = (1_u64 << 28) as f64;
    /// What is added to such a number and taken away again rounds it to an integer.
    const WHOLE: f64 = (1_u64 << 52) as f64;
    for ((x, y), out) in x.chunks(PIECE).zip(y.chunks(PIECE)).zip(out.chunks_mut(PIECE)) {
        let mut doubt = 0_u32;
        for ((x, y), out) in x.iter().zip(y).zip(&mut *out) {
            let (size, by) = (f64::from(x.abs()), f64::from(y.abs()));
            let quotient = size / by;
            let rounded = (quotient + WHOLE) - WHOLE;
            let whole = if rounded > quotient { rounded - 1.0 } else { rounded };
            let rest = size - whole * by;
            doubt |= u32::from(!(quotient < LIMIT && rest < by));
            *out = (rest as f32).copysign(*x);
        }
        if doubt != 0 {
            for ((x, y), out) in x.iter().zip(y).zip(out) {
                *out = x % y;
            }
        }
    }
}

/// Python's floor division of floats: consistent with the remainder.
fn floor_float<R: Real>(x: R, y: R, rest: R) -> R {
    let zero = R::of(0.0);
    if y == zero {
        return x / y;
    }
    let mut quotient = (x - rest) / y;
    if rest != zero && (y < zero) != (rest < zero) {
        quotient = quotient - R::of(1.0);
    }
    if quotient == zero {
        return if (x < zero) != (y < zero) { -zero } else { zero };
    }
    let floored = quotient.floor();
    if quotient - floored > R::of(0.5) { floored + R::of(1.0) } else { floored }
}

/// The remainder with the sign of the divisor.
fn remainder_float<R: Real>(_: R, y: R, rest: R) -> R {
    let zero = R::of(0.0);
    if rest != zero && (y < zero) != (rest < zero) { rest + y } else { rest }
}

fn floor_quotient(x: &Tensor, y: &Tensor) -> Tensor {
    of_rest(x, y, floor_float, floor_float, flooring)
}

pub(super) fn floor_divide(a: Number<'_>, b: Number<'_>) -> Result<Arg<Tensor>> {
    let (x, y) = operands(&a, &b);
    if divides_by_zero(&y) {
        return Err(by_zero());
    }
    if let Some(size) = numbers(&a, &b, flooring) {
        return Ok(size);
    }
    Ok(Arg::Value(floor_quotient(&x, &y)))
}

pub(super) fn remainder(a: Number<'_>, b: Number<'_>) -> Result<Arg<Tensor>> {
    let int = |x: i64, y: i64| x.wrapping_sub(flooring(x, y).wrapping_mul(y));
    let (x, y) = operands(&a, &b);
    if divides_by_zero(&y) {
        return Err(by_zero());
    }
    if let Some(size) = numbers(&a, &b, int) {
        return Ok(size);
    }
    Ok(Arg::Value(of_rest(&x, &y, remainder_float, remainder_float, int)))
}

pub(super) fn fmod(a: Number<'_>, b: Number<'_>) -> Result<Tensor> {
    let (x, y) = operands(&a, &b);
    if divides_by_zero(&y) {
        return Err(by_zero());
    }
    Ok(of_rest(&x, &y, |_, _, rest| rest, |_, _, rest| rest, i64::wrapping_rem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_are_exact() {
        let sizes =
            [0.0, 1e-45, 1.2e-38, 0.1, 1.0, 3.0, 1e7, 16_777_215.0, 3e8, 1e30, f32::MAX, f32::INFINITY, f32::NAN];
        let mut bits = 1_u32;
        let any = (0..4096).map(|_| {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(bits)
        });
        let some: Vec<f32> = sizes.iter().flat_map(|x| [*x, -x]).chain(any).collect();
        for shift in [1, 2, 3, 7, 100, 1001] {
            let y: Vec<f32> = some.iter().cycle().skip(shift).take(some.len()).copied().collect();
            let mut out = vec![0.0; y.len()];
            // One by one, so that none is computed beside one that is not fast.
            (0..y.len()).for_each(|i| rests(&some[i..=i], &y[i..=i], &mut out[i..=i]));
            for ((x, y), out) in some.iter().zip(&y).zip(&out) {
                let want = x % y;
                assert!(
                    out.to_bits() == want.to_bits() || out.is_nan() && want.is_nan(),
                    "{x} % {y}: {out}, not {want}"
                );
            }
        }
    }
}
