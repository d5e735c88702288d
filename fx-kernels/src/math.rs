//! Functions of f32 on vectors: the exponential and its kin, and the activations built on them; and [some of f64](double).
//!
//! Over the whole range, on every level, [`log`] is within 1 unit in the last place of the exact value, [`exp`], [`exp_below_one`] and
//! [`exp2_below_one`] within 1.2, [`expm1`], [`log1p`], [`tanh`], [`erf`] and [`hypot`] within 1.6, [`sin`] and [`cos`]
//! within 2, [`sigmoid`] within 2.2, [`atan`], [`asin`], [`acos`] and the [other hyperbolic functions](hyperbolic) with their inverses within
//! 2.6, [`log2`] and [`log10`] within 2.8, [`tan`] within 4, [`erfc`] within 5; the tests try it. NaN gives NaN, infinities give the limits. Denormal operands and results are computed with, as long as the processor's mode is the
//! usual one, but for the powers of a softmax ([`exp_below_one`], [`exp2_below_one`]), which are 0 in their place. Most activations are
//! PyTorch's formulas on top of these; all have PyTorch's results for NaN and infinities.
//!
//! The coefficients of `erf` and `log` are N. Juffa's, those of `expm1`, `tanh` and `asin` are from Cephes. [`exp`] has a polynomial of
//! its own with errors below 3.1e-9 of the result, [`erfc`] one below 1.4e-8, [`gelu`] a quotient with errors below 2e-7 of its operand.

#![allow(clippy::excessive_precision, reason = "coefficients are given with the digits that they were found with")]

pub(crate) mod double;
pub(crate) mod hyperbolic;
pub(crate) mod rounded;
#[cfg(test)]
mod tests;

use crate::simd::{Element, Lanes, Vector};

/// A vector of f32.
pub(crate) trait Single: Vector<Elem = f32> {}

impl<V: Vector<Elem = f32>> Single for V {}

/// One vector of f32, or several.
pub(crate) trait Floats: Lanes<Elem = f32> {}

impl<V: Lanes<Elem = f32>> Floats for V {}

/// A type of number that functions are written for, of which others are made for each type alike.
pub(crate) trait Real: Element {
    /// Numbers whose size is below this are their own exponential less 1, and logarithm of 1 more.
    const SMALL: Self;

    /// The natural logarithm of 2.
    const LN_2: Self;

    /// The number of this type.
    fn of(x: f32) -> Self;
    /// The exponential.
    fn exp<V: Lanes<Elem = Self>>(x: V) -> V;
    /// The exponential less 1.
    fn expm1<V: Lanes<Elem = Self>>(x: V) -> V;
    /// The natural logarithm.
    fn log<V: Lanes<Elem = Self>>(x: V) -> V;
}

impl Real for f32 {
    const SMALL: Self = 1e-9;
    const LN_2: Self = std::f32::consts::LN_2;

    #[inline(always)]
    fn of(x: f32) -> Self {
        x
    }
    #[inline(always)]
    fn exp<V: Floats>(x: V) -> V {
        exp(x)
    }
    #[inline(always)]
    fn expm1<V: Floats>(x: V) -> V {
        expm1(x)
    }
    #[inline(always)]
    fn log<V: Floats>(x: V) -> V {
        log(x)
    }
}

/// `c[0] x^(n-1) + .. + c[n-1]`.
#[inline(always)]
fn polynomial<V: Lanes, const N: usize>(x: V, coefficients: [V::Elem; N]) -> V {
    let mut sum = V::splat(coefficients[0]);
    for c in &coefficients[1..] {
        sum = sum.mul_add(x, V::splat(*c));
    }
    sum
}

/// `x` below 0 if `sign` is.
#[inline(always)]
fn signed<V: Lanes>(x: V, sign: V) -> V {
    V::select(sign.lt(V::zero()), -x, x)
}

/// The whole number `n` and the rest `r` with `x = n ln 2 + r`.
#[inline(always)]
fn reduce<V: Floats>(x: V) -> (V, V) {
    // The first part of ln 2 has so few bits that its product with `n` is exact.
    let n = (x * V::splat(std::f32::consts::LOG2_E)).round();
    let r = n.mul_add(V::splat(-0.693_359_375), x);
    (n, n.mul_add(V::splat(2.121_944_4e-4), r))
}

/// `exp(r) - 1` for `r` within half of ln 2.
#[inline(always)]
fn expm1_near_zero<V: Floats>(r: V) -> V {
    let tail = [1.987_569_15e-4, 1.398_199_95e-3, 8.333_451_9e-3, 4.166_579_6e-2, 1.666_666_55e-1, 5.000_000_1e-1];
    polynomial(r, tail).mul_add(r * r, r)
}

/// The exponential.
#[inline(always)]
pub(crate) fn exp<V: Floats>(x: V) -> V {
    // Beyond these the result is infinite or 0; a NaN passes both.
    exp_within(V::splat(-105.0).max(V::splat(89.0).min(x)))
}

/// The exponential of `-x`: after the bounds, the sign costs nothing.
#[inline(always)]
fn exp_of_minus<V: Floats>(x: V) -> V {
    exp_within(-V::splat(-89.0).max(V::splat(105.0).min(x)))
}

/// The exponential of a number that is not far beyond what has one.
#[inline(always)]
fn exp_within<V: Floats>(x: V) -> V {
    let (n, factor) = exp_parts(x);
    factor.scale(n)
}

/// The exponential of a number as an exponent of 2 and a factor.
#[inline(always)]
fn exp_parts<V: Floats>(x: V) -> (V, V) {
    let (n, r) = reduce(x);
    let tail = [1.381_454e-3, 8.368_745e-3, 4.166_839e-2, 1.666_652e-1, 4.999_999_3e-1, 1.0, 1.0];
    (n, polynomial(r, tail))
}

/// The exponential of a number that is at most 0, or 0 where that is no normal number: it makes no difference in a sum that has a
/// 1, but a product with such a number takes some processors as long as a hundred others.
#[inline(always)]
pub(crate) fn exp_below_one<V: Floats>(x: V) -> V {
    let least = V::splat(-87.33);
    // A NaN is not below it, and passes.
    let (n, factor) = exp_parts(least.max(x));
    V::select(x.lt(least), V::zero(), factor.scale_normal(n))
}

/// 2 to the power of a number that is at most 0, or 0 as for [`exp_below_one`].
#[inline(always)]
pub(crate) fn exp2_below_one<V: Floats>(x: V) -> V {
    let (below, x) = (x.lt(V::splat(-126.0)), V::splat(-126.0).max(x));
    let n = x.round();
    let tail = [1.535_336_2e-4, 1.339_887_5e-3, 9.618_437e-3, 5.550_332_5e-2, 2.402_264_8e-1, 6.931_472e-1, 1.0];
    V::select(below, V::zero(), polynomial(x - n, tail).scale_normal(n))
}

/// The exponential less 1, accurate near 0.
#[inline(always)]
pub(crate) fn expm1<V: Floats>(x: V) -> V {
    let (n, r) = reduce(V::splat(-30.0).max(V::splat(89.0).min(x)));
    expm1_of(x, n, expm1_near_zero(r))
}

/// The exponential of `x` less 1, where `x` is so many times ln 2 and a rest, of which `near` is that.
#[inline(always)]
fn expm1_of<V: Lanes<Elem: Real>>(x: V, n: V, near: V) -> V {
    let one = V::splat(Real::of(1.0));
    // Half of the power, since the power itself may be too large.
    let half = one.scale_normal(n - one);
    let y = half.mul_add(near, half - V::splat(Real::of(0.5)));
    V::select(x.abs().lt(V::splat(Real::SMALL)), x, y + y)
}

/// A number as a power of 2 and the natural logarithm of the rest, which is around 1.
#[inline(always)]
fn logarithm<V: Floats>(x: V) -> [V; 2] {
    let (one, zero) = (V::splat(1.0), V::zero());
    let denormal = x.lt(V::splat(f32::MIN_POSITIVE));
    let normal = V::select(denormal, x * V::splat(8_388_608.0), x);
    // A mantissa around 1.
    let exponent = normal.exponent();
    let mantissa = normal.scale(-exponent);
    let large = V::splat(4.0 / 3.0).lt(mantissa);
    let exponent = exponent + V::select(large, one, zero) - V::select(denormal, V::splat(23.0), zero);
    let f = V::select(large, mantissa * V::splat(0.5), mantissa) - one;
    let square = f * f;
    let even = polynomial(square, [-0.130_310_059, -0.121_483_922, -0.166_846_126, -0.249_996_200]);
    let odd = polynomial(square, [0.140_869_141, 0.139_814_854, 0.200_120_345]);
    let r = odd.mul_add(f, even).mul_add(f, V::splat(0.333_331_972)).mul_add(f, V::splat(-0.5)).mul_add(square, f);
    [exponent, r]
}

/// A logarithm `y` of `x`, or its limit.
#[inline(always)]
fn limited<V: Lanes<Elem: Real>>(x: V, y: V) -> V {
    let (infinity, none, zero) = (V::splat(Real::of(f32::INFINITY)), V::splat(Real::of(f32::NAN)), V::zero());
    // A NaN is neither below infinity nor at most 0, and comes through.
    let y = V::select(x.lt(infinity), y, x);
    V::select(x.le(zero), V::select(x.lt(zero), none, -infinity), y)
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log<V: Floats>(x: V) -> V {
    let [exponent, r] = logarithm(x);
    // ln 2 in two parts, so that a level without a fused product is as accurate.
    limited(x, exponent.mul_add(V::splat(0.693_359_375), exponent.mul_add(V::splat(-2.121_944_4e-4), r)))
}

/// The logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<V: Floats>(x: V) -> V {
    let [exponent, r] = logarithm(x);
    // 1 / ln 2 in two parts, the first of few bits.
    limited(x, exponent + r.mul_add(V::splat(1.442_382_812_5), r * V::splat(3.122_284e-4)))
}

/// The logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<V: Floats>(x: V) -> V {
    let [exponent, r] = logarithm(x);
    // The logarithms of 2 and e in two parts, the first of few bits.
    let tail = exponent.mul_add(V::splat(4.605_039e-6), r * V::splat(9.038_034e-5));
    limited(x, exponent.mul_add(V::splat(0.301_025_390_625), r.mul_add(V::splat(0.434_204_101_562_5), tail)))
}

/// The logarithm of `1 + x`, accurate near 0.
#[inline(always)]
pub(crate) fn log1p<V: Lanes<Elem: Real>>(x: V) -> V {
    let one = V::splat(Real::of(1.0));
    let sum = x + one;
    let y = Real::log(sum);
    // What rounding the sum has lost, relative to it, is what the logarithm lacks. In the larger operand's terms.
    let lost = V::select(x.lt(one), x - (sum - one), one - (sum - x));
    let inner = V::zero().lt(sum);
    let finite = sum.lt(V::splat(Real::of(f32::INFINITY)));
    let corrected = y + V::select(finite, lost, V::zero()) / V::select(inner, sum, one);
    V::select(x.abs().lt(V::splat(Real::SMALL)), x, V::select(inner, corrected, y))
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<V: Floats>(x: V) -> V {
    let size = x.abs();
    let square = x * x;
    let near = [-5.704_988_72e-3, 2.063_908_80e-2, -5.373_971_18e-2, 1.333_144_22e-1, -3.333_328_19e-1];
    let near = (polynomial(square, near) * square).mul_add(x, x);
    let one = V::splat(1.0);
    let far = one - V::splat(2.0) / (exp(size + size) + one);
    V::select(size.lt(V::splat(0.625)), near, signed(far, x))
}

/// What an odd function is of `x`, if it is `y` of its size.
#[inline(always)]
fn odd_of<V: Lanes>(y: V, x: V) -> V {
    // With the sign of 0.
    V::select(x.eq(V::zero()), x, signed(y, x))
}

/// `1 / (1 + exp(-x))`.
#[inline(always)]
pub(crate) fn sigmoid<V: Lanes<Elem: Real>>(x: V) -> V {
    // The power of minus the size cannot overflow, so results are right down to denormal ones.
    let power = Real::exp(-x.abs());
    let one = V::splat(Real::of(1.0));
    V::select(x.lt(V::zero()), power, one) / (power + one)
}

/// What a number is beyond so many quarter turns. None where it is too large for that.
#[inline(always)]
fn beyond<V: Floats>(x: V, quarters: V) -> Option<V> {
    /// A quarter turn in three parts; products with the quarters are exact where they are not rounded before they are added.
    const QUARTER: [f32; 3] = [1.570_796_4, -4.371_139e-8, -1.715_124_5e-15];
    /// As far as these parts reach, and as far as no more than one quarter is taken off.
    const LIMITS: [f32; 2] = [100_000.0, std::f32::consts::FRAC_PI_4];
    const FINE: f32 = 1.0 + 1.0 / 4096.0;
    // Whether sums of products are rounded once: the square's last bit is left then.
    let square = V::splat(FINE).mul_add(V::splat(FINE), V::splat(-1.0 - 2.0 / 4096.0));
    let limit = V::select(square.eq(V::zero()), V::splat(LIMITS[1]), V::splat(LIMITS[0]));
    if V::any(limit.lt(x.abs())) {
        return None;
    }
    Some(QUARTER.into_iter().fold(x, |rest, part| quarters.mul_add(V::splat(-part), rest)))
}

/// Whether whole numbers are odd.
#[inline(always)]
fn odd<V: Lanes<Elem: Real>>(n: V) -> V::Mask {
    let half = n * V::splat(Real::of(0.5));
    half.floor().lt(half)
}

/// The sine of a number that is within a quarter turn of 0.
#[inline(always)]
fn sine<V: Floats>(r: V) -> V {
    let z = r * r;
    (polynomial(z, [2.605_630_2e-6, -1.980_953_8e-4, 8.333_066e-3, -1.666_666e-1]) * z).mul_add(r, r)
}

/// The sine.
#[inline(always)]
pub(crate) fn sin<V: Floats>(x: V) -> V {
    // A half turn changes the sign.
    let halves = (x * V::splat(std::f32::consts::FRAC_1_PI)).round();
    let Some(r) = beyond(x, halves + halves) else { return x.each(f32::sin) };
    // With the sign of 0.
    V::select(x.eq(V::zero()), x, sine(V::select(odd(halves), -r, r)))
}

/// The cosine.
#[inline(always)]
pub(crate) fn cos<V: Floats>(x: V) -> V {
    // It is 0 a quarter turn after each half.
    let halves = (x * V::splat(std::f32::consts::FRAC_1_PI)).floor();
    let Some(r) = beyond(x, halves + halves + V::splat(1.0)) else { return x.each(f32::cos) };
    sine(V::select(odd(halves), r, -r))
}

/// The tangent.
#[inline(always)]
pub(crate) fn tan<V: Floats>(x: V) -> V {
    let n = (x * V::splat(std::f32::consts::FRAC_2_PI)).round();
    let Some(r) = beyond(x, n) else { return x.each(f32::tan) };
    let z = r * r;
    let opposite = (polynomial(z, [2.718_311e-6, -1.983_934_1e-4, 8.333_329e-3, -1.666_666_6e-1]) * z).mul_add(r, r);
    let tail = polynomial(z, [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]) * z;
    let adjacent = tail.mul_add(z, z.mul_add(V::splat(-0.5), V::splat(1.0)));
    let odd = odd(n);
    let y = V::select(odd, -adjacent, opposite) / V::select(odd, opposite, adjacent);
    // With the sign of 0.
    V::select(x.eq(V::zero()), x, y)
}

/// Half of pi, less its nearest number.
const RIGHT_LOW: f32 = -4.371_139e-8;

/// The angle of a slope from 0 to 1.
#[inline(always)]
fn angle<V: Floats>(slope: V) -> V {
    /// The tangent of an eighth of pi.
    const MIDDLE: f32 = 0.414_213_56;
    let one = V::splat(1.0);
    let far = V::splat(MIDDLE).lt(slope);
    let t = V::select(far, (slope - one) / (slope + one), slope);
    let square = t * t;
    let p = polynomial(square, [8.053_744_5e-2, -1.387_768_6e-1, 1.997_771_1e-1, -3.333_295e-1]);
    let turned = (p * square).mul_add(t, t);
    V::select(far, (turned + V::splat(RIGHT_LOW / 2.0)) + V::splat(std::f32::consts::FRAC_PI_4), turned)
}

/// What an angle is short of so many right ones.
#[inline(always)]
fn rest<V: Floats>(right: f32, angle: V) -> V {
    (V::splat(std::f32::consts::FRAC_PI_2 * right) - angle) + V::splat(RIGHT_LOW * right)
}

/// The inverse of the tangent.
#[inline(always)]
pub(crate) fn atan<V: Floats>(x: V) -> V {
    let one = V::splat(1.0);
    let size = x.abs();
    let steep = one.lt(size);
    let flat = angle(V::select(steep, one / size, size));
    odd_of(V::select(steep, rest(1.0, flat), flat), x)
}

/// The inverse of the sine of a number from 0 to 0.5 with that square.
#[inline(always)]
fn arc<V: Floats>(x: V, square: V) -> V {
    let tail = [4.216_32e-2, 2.418_131_1e-2, 4.547_002_6e-2, 7.495_300_3e-2, 1.666_675_2e-1];
    (polynomial(square, tail) * square).mul_add(x, x)
}

/// The inverse of the sine of a number's size, in parts: the angle, or what half of it is short of a quarter turn, and whether it is that.
#[inline(always)]
fn arcs<V: Floats>(size: V) -> (V, V::Mask) {
    let half = V::splat(0.5);
    let far = half.lt(size);
    let square = V::select(far, (V::splat(1.0) - size) * half, size * size);
    (arc(V::select(far, square.sqrt(), size), square), far)
}

/// The inverse of the sine.
#[inline(always)]
pub(crate) fn asin<V: Floats>(x: V) -> V {
    let (arc, far) = arcs(x.abs());
    odd_of(V::select(far, rest(1.0, arc + arc), arc), x)
}

/// The inverse of the cosine, from 0 to pi.
#[inline(always)]
pub(crate) fn acos<V: Floats>(x: V) -> V {
    let (arc, far) = arcs(x.abs());
    let twice = arc + arc;
    let near = rest(1.0, signed(arc, x));
    V::select(far, V::select(x.lt(V::zero()), rest(2.0, twice), twice), near)
}

/// The angle of the point `(x, y)`, from minus pi to pi.
#[inline(always)]
pub(crate) fn atan2<V: Floats>(y: V, x: V) -> V {
    let (zero, one) = (V::zero(), V::splat(1.0));
    // Zeros have signs too.
    let side = |x: V| V::select(x.eq(zero), one / x, x);
    let (along, up) = (x.abs(), y.abs());
    let (most, least) = (along.max(up), along.min(up));
    // Zeros have no ratio, and infinities neither.
    let same = V::select(most.eq(zero), zero, one);
    let flat = angle(V::select(least.eq(most), same, least / most));
    let steep = V::select(along.lt(up), rest(1.0, flat), flat);
    let above = V::select(side(x).lt(zero), rest(2.0, steep), steep);
    let angle = signed(above, side(y));
    let angle = V::select(x.eq(x), angle, x);
    V::select(y.eq(y), angle, y)
}

/// The error function.
#[inline(always)]
pub(crate) fn erf<V: Floats>(x: V) -> V {
    // From 4 on the result is 1.
    let size = V::splat(4.0).min(x.abs());
    let square = size * size;
    let near =
        [-5.967_617_03e-4, 4.991_194_23e-3, -2.676_813_49e-2, 1.128_199_25e-1, -3.761_253_36e-1, 1.283_791_66e-1];
    let near = polynomial(square, near).mul_add(x, x);
    let high = polynomial(size, [-1.728_534_70e-5, 3.831_971_26e-4]);
    let low = polynomial(size, [-3.883_964_38e-3, 2.425_462_19e-2]);
    let r = high.mul_add(square, low).mul_add(size, V::splat(-1.067_778_77e-1));
    let r = r.mul_add(size, V::splat(-6.348_466_87e-1)).mul_add(size, V::splat(-1.287_175_12e-1));
    let far = signed(V::splat(1.0) - exp(r.mul_add(size, -size)), x);
    V::select(V::splat(0.927_734_375).lt(size), far, near)
}

/// 1 less the error function, as accurate where that is close to 0.
#[inline(always)]
pub(crate) fn erfc<V: Floats>(x: V) -> V {
    let (one, two) = (V::splat(1.0), V::splat(2.0));
    // From here on the result is 0, or 2.
    let size = V::splat(10.2).min(x.abs());
    // `(1 + 2x) exp(x^2) erfc(x)` hardly bends over this (Shepherd and Laframboise, 1981).
    let q = (size - two) / (size + two);
    let tail = [
        -3.994_570_3e-4,
        -1.228_011_7e-3,
        1.313_317e-3,
        8.630_107e-3,
        -8.060_145e-3,
        -5.420_388_7e-2,
        1.640_554_2e-1,
        -1.660_314_6e-1,
        -9.276_398e-2,
        1.276_978_4,
    ];
    let factor = polynomial(q, tail) / size.mul_add(two, one);
    // The square of so few bits is exact.
    let near = (size * V::splat(256.0)).round() * V::splat(1.0 / 256.0);
    let rest = (size - near) * (size + near);
    let power = polynomial(-rest, [1.0 / 6.0, 0.5, 1.0, 1.0]);
    let above = factor * power * exp(-(near * near));
    V::select(x.lt(V::zero()), two - above, above)
}

/// The length of a right-angled triangle's longest side.
#[inline(always)]
pub(crate) fn hypot<V: Floats>(x: V, y: V) -> V {
    let (x, y, infinite) = (x.abs(), y.abs(), V::splat(f32::INFINITY));
    // So that squares neither overflow nor vanish.
    let exponent = V::splat(f32::MIN_POSITIVE).max(V::splat(f32::MAX).min(x.max(y))).exponent();
    let (along, up) = (x.scale(-exponent), y.scale(-exponent));
    let length = along.mul_add(along, up * up).sqrt().scale(exponent);
    // Also if the other side is NaN.
    V::select(x.eq(infinite), x, V::select(y.eq(infinite), y, length))
}

/// See [`Distance`](crate::elementwise::Binary::Distance).
#[inline(always)]
pub(crate) fn distance_loss<V: Floats>(x: V, y: V, bound: f32, steepness: f32, slope: f32) -> V {
    let z = (x - y).abs();
    let far = z.mul_add(V::splat(slope), V::splat(-0.5 * slope * bound));
    V::select(z.le(V::splat(bound)), V::splat(steepness) * z * z, far)
}

/// The integer part, with the sign of the number.
#[inline(always)]
pub(crate) fn trunc<V: Floats>(x: V) -> V {
    V::select(x.lt(V::zero()), -(-x).floor(), x.floor())
}

/// The number, or what stands for NaN and for infinities.
#[inline(always)]
pub(crate) fn nan_to_num<V: Floats>(x: V, nan: f32, above: f32, below: f32) -> V {
    let y = V::select(x.eq(V::splat(f32::INFINITY)), V::splat(above), x);
    let y = V::select(x.eq(V::splat(f32::NEG_INFINITY)), V::splat(below), y);
    V::select(x.eq(x), y, V::splat(nan))
}

/// `x` times the normal distribution function.
#[inline(always)]
pub(crate) fn gelu<V: Floats>(x: V) -> V {
    // Beyond, the distribution is 0 or 1 to the last bit.
    let limit = V::splat(5.6);
    let inner = (-limit).max(limit.min(x));
    let square = inner * inner;
    let above = [2.214_573_3e-8, 6.356_469_8e-6, 1.738_436_7e-4, 4.707_215_3e-3, 3.437_542_7e-2, 3.989_422_2e-1];
    let below = [1.180_219_9e-6, 7.509_960_5e-5, 1.912_937_7e-3, 2.893_969_2e-2, 2.528_321_3e-1, 1.0];
    let half = polynomial(square, above) / polynomial(square, below);
    let normal = half.mul_add(inner, V::splat(0.5));
    let far = V::select(x.lt(V::zero()), V::zero(), V::splat(1.0));
    x * V::select(x.abs().lt(limit), normal, far)
}

/// The approximation of [`gelu`] with a hyperbolic tangent.
#[inline(always)]
pub(crate) fn gelu_tanh<V: Floats>(x: V) -> V {
    /// The square root of 2 over pi.
    const SCALE: f32 = 0.797_884_560_802_865_4;
    let inner = (x * x * x).mul_add(V::splat(0.044_715), x) * V::splat(SCALE);
    // Half of one more than the hyperbolic tangent is the sigmoid of twice the operand.
    x / (exp_of_minus(inner + inner) + V::splat(1.0))
}

/// `x * sigmoid(x)`.
#[inline(always)]
pub(crate) fn silu<V: Floats>(x: V) -> V {
    x / (exp_of_minus(x) + V::splat(1.0))
}

/// `positive * x` above 0, else `negative * (exp(rate * x) - 1)`.
#[inline(always)]
pub(crate) fn elu<V: Floats>(x: V, negative: f32, positive: f32, rate: f32) -> V {
    let below = expm1(x * V::splat(rate)) * V::splat(negative);
    V::select(V::zero().lt(x), x * V::splat(positive), below)
}

/// `log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x` is above `threshold`.
#[inline(always)]
pub(crate) fn softplus<V: Floats>(x: V, beta: f32, threshold: f32) -> V {
    let scaled = x * V::splat(beta);
    V::select(V::splat(threshold).lt(scaled), x, log1p(exp(scaled)) / V::splat(beta))
}

/// `x * tanh(log(1 + exp(x)))`.
#[inline(always)]
pub(crate) fn mish<V: Floats>(x: V) -> V {
    // The tangent of the logarithm is a fraction of powers, without cancellation.
    let power = exp(x);
    let above = power * (power + V::splat(2.0));
    V::select(V::splat(20.0).lt(x), x, x * (above / (above + V::splat(2.0))))
}

/// `log(sigmoid(x))`.
#[inline(always)]
pub(crate) fn log_sigmoid<V: Floats>(x: V) -> V {
    V::zero().min(x) - log1p(exp(-x.abs()))
}

/// The value, but at least `low` and at most `high`; NaN stays.
#[inline(always)]
pub(crate) fn clamp<V: Floats>(x: V, low: f32, high: f32) -> V {
    V::splat(high).min(V::splat(low).max(x))
}

/// `min(max(x + 3, 0), 6) / 6`.
#[inline(always)]
pub(crate) fn hardsigmoid<V: Floats>(x: V) -> V {
    // A division would take longer than all else.
    clamp(x + V::splat(3.0), 0.0, 6.0) * V::splat(1.0 / 6.0)
}

/// `x * min(max(x + 3, 0), 6) / 6`.
#[inline(always)]
pub(crate) fn hardswish<V: Floats>(x: V) -> V {
    x * hardsigmoid(x)
}
