//! The functions of f64: the exponential and the logarithm, their kin, and the sine and the cosine; [others](super::hyperbolic) are made of them.
//!
//! Over the whole range, on every level, [`log`] is within 1.5 units in the last place of the C library's result, [`exp`], [`sin`] and [`cos`]
//! within 2, [`expm1`] and [`log1p`](super::log1p) within 2.5, the others within 4; the tests try it. NaN gives NaN, infinities give the limits.
//!
//! The polynomials are near the best ones, with errors below 1e-17 of the result (Chebyshev's series with 60 digits); the
//! logarithm's way to add up is that of fdlibm (Sun Microsystems, 1993).

use super::{Real, expm1_of, limited, odd, polynomial, signed};
use crate::simd::Lanes;

/// One vector of f64, or several.
pub(crate) trait Doubles: Lanes<Elem = f64> {}

impl<V: Lanes<Elem = f64>> Doubles for V {}

impl Real for f64 {
    const SMALL: Self = 1e-18;
    const LN_2: Self = std::f64::consts::LN_2;

    #[inline(always)]
    fn of(x: f32) -> Self {
        x.into()
    }
    #[inline(always)]
    fn exp<V: Doubles>(x: V) -> V {
        exp(x)
    }
    #[inline(always)]
    fn expm1<V: Doubles>(x: V) -> V {
        expm1(x)
    }
    #[inline(always)]
    fn log<V: Doubles>(x: V) -> V {
        log(x)
    }
}

/// The whole number `n` and the rest `r` with `x = n ln 2 + r`.
#[inline(always)]
fn reduce<V: Doubles>(x: V) -> (V, V) {
    // The first part of ln 2 has so few bits that its product with `n` is exact.
    let n = (x * V::splat(std::f64::consts::LOG2_E)).round();
    let r = n.mul_add(V::splat(-0.693_147_180_369_123_8), x);
    (n, n.mul_add(V::splat(-1.908_214_929_270_587_7e-10), r))
}

/// `exp(r) - 1` for `r` within half of ln 2.
#[inline(always)]
fn expm1_near_zero<V: Doubles>(r: V) -> V {
    let tail = [
        2.510_042_415_700_506_7e-8,
        2.762_013_871_973_399_4e-7,
        2.755_726_837_868_419_2e-6,
        2.480_152_119_021_773e-5,
        1.984_126_986_310_596_3e-4,
        1.388_888_891_728_179_4e-3,
        8.333_333_333_330_051e-3,
        4.166_666_666_662_399e-2,
        1.666_666_666_666_666_9e-1,
        5.000_000_000_000_001e-1,
    ];
    polynomial(r, tail).mul_add(r * r, r)
}

/// The exponential.
#[inline(always)]
pub(crate) fn exp<V: Doubles>(x: V) -> V {
    // Beyond these the result is infinite or 0; a NaN passes both.
    let (n, r) = reduce(V::splat(-746.0).max(V::splat(710.0).min(x)));
    (expm1_near_zero(r) + V::splat(1.0)).scale(n)
}

/// The exponential less 1, accurate near 0.
#[inline(always)]
pub(crate) fn expm1<V: Doubles>(x: V) -> V {
    let (n, r) = reduce(V::splat(-45.0).max(V::splat(710.0).min(x)));
    expm1_of(x, n, expm1_near_zero(r))
}

/// A number as a power of 2 and the natural logarithm of the rest, which is around 1, in two parts.
#[inline(always)]
fn logarithm<V: Doubles>(x: V) -> [V; 3] {
    /// 2 to the power of 54, which makes denormal numbers normal ones.
    const NORMAL: f64 = 18_014_398_509_481_984.0;
    let (one, zero) = (V::splat(1.0), V::zero());
    let denormal = x.lt(V::splat(f64::MIN_POSITIVE));
    let normal = V::select(denormal, x * V::splat(NORMAL), x);
    let exponent = normal.exponent();
    let mantissa = normal.scale(-exponent);
    let large = V::splat(std::f64::consts::SQRT_2).lt(mantissa);
    let exponent = exponent + V::select(large, one, zero) - V::select(denormal, V::splat(54.0), zero);
    let f = V::select(large, mantissa * V::splat(0.5), mantissa) - one;
    let s = f / (f + V::splat(2.0));
    let z = s * s;
    let tail = [
        1.461_780_715_341_732_5e-1,
        1.533_161_172_205_500_8e-1,
        1.818_289_243_253_687e-1,
        2.222_221_108_937_949_6e-1,
        2.857_142_862_625_386e-1,
        3.999_999_999_989_889e-1,
        6.666_666_666_666_67e-1,
    ];
    let half = f * f * V::splat(0.5);
    // The logarithm is `f - (half - s (half + rest))`.
    [exponent, f, s * polynomial(z, tail).mul_add(z, half) - half]
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log<V: Doubles>(x: V) -> V {
    let [exponent, f, rest] = logarithm(x);
    // ln 2 in two parts, the first of few bits.
    let low = exponent.mul_add(V::splat(1.908_214_929_270_587_7e-10), rest) + f;
    limited(x, exponent.mul_add(V::splat(0.693_147_180_369_123_8), low))
}

/// The logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<V: Doubles>(x: V) -> V {
    let [exponent, f, rest] = logarithm(x);
    let r = f + rest;
    // 1 / ln 2 in two parts, the first of few bits.
    limited(x, exponent + r.mul_add(V::splat(1.442_695_021_629_333_5), r * V::splat(1.925_962_991_126_617_5e-8)))
}

/// The logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<V: Doubles>(x: V) -> V {
    let [exponent, f, rest] = logarithm(x);
    let r = f + rest;
    // The logarithms of 2 and e in two parts, the first of few bits.
    let tail = exponent.mul_add(V::splat(1.145_110_089_802_183_8e-10), r * V::splat(4.798_111_141_615_973e-9));
    let tail = r.mul_add(V::splat(0.434_294_477_105_140_7), tail);
    limited(x, exponent.mul_add(V::splat(0.301_029_995_549_470_2), tail))
}

/// A power of a number, as far as an f32 goes: what the logarithm lacks grows with the exponent.
#[inline(always)]
pub(crate) fn power<V: Doubles>(x: V, y: V) -> V {
    let (zero, one, none, infinity) = (V::zero(), V::splat(1.0), V::splat(f64::NAN), V::splat(f64::INFINITY));
    let size = x.abs();
    // 1 has no power but 1, also where the exponent is infinite.
    let y_of_size = V::select(size.eq(one), one, exp(y * log(size)));
    let (odd, whole) = (odd(y), y.floor().eq(y));
    let between = V::select(size.lt(infinity), none, y_of_size);
    let negative = V::select(whole, V::select(odd, -y_of_size, y_of_size), between);
    let power = V::select(x.lt(zero), negative, y_of_size);
    // A zero keeps its sign in odd powers, and infinity has it where they are below 0.
    let below = y.lt(zero);
    let of_zero = if V::any(x.eq(zero)) { V::select(below, one / x, x) } else { x };
    let power = V::select(x.eq(zero), V::select(odd, V::select(whole, of_zero, power), power), power);
    V::select(x.eq(one), one, V::select(y.eq(zero), one, power))
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<V: Doubles>(x: V) -> V {
    // From 20 on the result is 1; a NaN passes.
    let size = V::splat(20.0).min(x.abs());
    let power = expm1(size + size);
    let y = signed(power / (power + V::splat(2.0)), x);
    V::select(size.lt(V::splat(Real::SMALL)), x, y)
}

/// What a number is beyond so many quarter turns. None where it is too large for that.
#[inline(always)]
fn beyond<V: Doubles>(x: V, quarters: V) -> Option<V> {
    /// A quarter turn in three parts, the first two of so few bits that their products with the quarters are exact.
    const QUARTER: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];
    const LIMIT: f64 = 1e6;
    if V::any(V::splat(LIMIT).lt(x.abs())) {
        return None;
    }
    Some(QUARTER.into_iter().fold(x, |rest, part| quarters.mul_add(V::splat(-part), rest)))
}

/// The sine and the cosine of a number that is within an eighth of a turn of 0.
#[inline(always)]
fn waves<V: Doubles>(r: V) -> [V; 2] {
    let z = r * r;
    let sine = [
        1.591_798_894_431_871_6e-10,
        -2.505_112_989_596_280_7e-8,
        2.755_731_609_319_606_6e-6,
        -1.984_126_983_674_052_7e-4,
        8.333_333_333_330_936e-3,
        -1.666_666_666_666_666_6e-1,
    ];
    let cosine = [
        -1.138_254_462_340_414_7e-11,
        2.087_614_504_910_828e-9,
        -2.755_731_726_587_661_5e-7,
        2.480_158_729_875_44e-5,
        -1.388_888_888_888_738_9e-3,
        4.166_666_666_666_666_4e-2,
    ];
    // What half of the square loses of 1 is added again.
    let (one, half) = (V::splat(1.0), z * V::splat(0.5));
    let near = one - half;
    let cosine = near + ((one - near) - half + polynomial(z, cosine) * (z * z));
    [(polynomial(z, sine) * z).mul_add(r, r), cosine]
}

/// The sine of a number and so many quarter turns.
#[inline(always)]
fn turned<V: Doubles>(x: V, more: f64) -> Option<V> {
    let n = (x * V::splat(std::f64::consts::FRAC_2_PI)).round();
    let [sine, cosine] = waves(beyond(x, n)?);
    let n = n + V::splat(more);
    let y = V::select(odd(n), cosine, sine);
    // A half turn changes the sign.
    Some(V::select(odd((n * V::splat(0.5)).floor()), -y, y))
}

/// The sine.
#[inline(always)]
pub(crate) fn sin<V: Doubles>(x: V) -> V {
    // With the sign of 0.
    turned(x, 0.0).map_or_else(|| x.each(f64::sin), |y| V::select(x.eq(V::zero()), x, y))
}

/// The cosine.
#[inline(always)]
pub(crate) fn cos<V: Doubles>(x: V) -> V {
    turned(x, 1.0).unwrap_or_else(|| x.each(f64::cos))
}
