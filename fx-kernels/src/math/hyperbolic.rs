//! The hyperbolic functions but the tangent, and the inverses of all, of f32 and f64 alike.

use super::{Real, log1p, odd_of};
use crate::simd::Lanes;

/// From here on the exponential of minus a number is nothing beside that of the number, which may be too large.
const LARGE: f32 = 80.0;

/// A number, or half of it where it is large, and whether it is.
#[inline(always)]
fn halved<V: Lanes<Elem: Real>>(x: V) -> (V, V::Mask) {
    let large = V::splat(Real::of(LARGE)).lt(x);
    (V::select(large, x * V::splat(Real::of(0.5)), x), large)
}

/// The hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh<V: Lanes<Elem: Real>>(x: V) -> V {
    let (size, large) = halved(x.abs());
    let (power, half) = (Real::expm1(size), V::splat(Real::of(0.5)));
    let near = half * (power + power / (power + V::splat(Real::of(1.0))));
    odd_of(V::select(large, half * power * power, near), x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh<V: Lanes<Elem: Real>>(x: V) -> V {
    let (size, large) = halved(x.abs());
    let (power, half) = (Real::exp(size), V::splat(Real::of(0.5)));
    V::select(large, half * power * power, half * power + half / power)
}

/// `log(1 + rest(x))`, or `log(2 x)` of what is so large that the former becomes it.
#[inline(always)]
fn log_of_twice<V: Lanes<Elem: Real>>(x: V, rest: V) -> V {
    /// 2 to the power of 28: its square has no place for a 1, and is not too large.
    const LARGE: f32 = 268_435_456.0;
    let large = V::splat(Real::of(LARGE)).lt(x);
    let more = V::select(large, V::splat(Real::LN_2), V::zero());
    log1p(V::select(large, x - V::splat(Real::of(1.0)), rest)) + more
}

/// The inverse of the hyperbolic sine.
#[inline(always)]
pub(crate) fn asinh<V: Lanes<Elem: Real>>(x: V) -> V {
    let (size, one) = (x.abs(), V::splat(Real::of(1.0)));
    let square = size * size;
    odd_of(log_of_twice(size, size + square / (one + (one + square).sqrt())), x)
}

/// The inverse of the hyperbolic cosine, of numbers from 1 on.
#[inline(always)]
pub(crate) fn acosh<V: Lanes<Elem: Real>>(x: V) -> V {
    let one = V::splat(Real::of(1.0));
    let more = x - one;
    let y = log_of_twice(x, more + (more * more + (more + more)).sqrt());
    V::select(x.lt(one), V::splat(Real::of(f32::NAN)), y)
}

/// The inverse of the hyperbolic tangent, of numbers from -1 to 1.
#[inline(always)]
pub(crate) fn atanh<V: Lanes<Elem: Real>>(x: V) -> V {
    let (size, half) = (x.abs(), V::splat(Real::of(0.5)));
    let (twice, small) = (size + size, size.lt(half));
    // Twice the number over what it is short of 1, where the first part of it is exact.
    let ratio = V::select(small, twice * size, twice) / (V::splat(Real::of(1.0)) - size);
    odd_of(half * log1p(V::select(small, twice + ratio, ratio)), x)
}
