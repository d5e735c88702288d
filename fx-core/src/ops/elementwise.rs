//! Arithmetic, comparisons and logic, element by element, with broadcasting.

mod division;
mod eval;
mod infer;

use super::cost;
use super::kind::{self, Encode};
use super::shape;
use super::table::{ops, out};
use crate::value::Call;

pub(super) use division::quotient;
pub(super) use eval::{power, product, sigmoid as eval_sigmoid};

ops! {
    /// Arithmetic, comparisons and logic, element by element.
    pub trait Elementwise;

    /// The sum, broadcasting; `alpha` multiplies the second operand. Of two sizes, their sum.
    method add [add_with: AddOptions] (input: num, other: num;; alpha: scalar = crate::Scalar::Int(1)) -> one
        = eval::add, infer::add, cost::pointwise;
    /// The difference, broadcasting; `alpha` multiplies the second operand.
    method sub [sub_with: SubOptions] (input: num, other: num;; alpha: scalar = crate::Scalar::Int(1)) -> one
        = eval::sub, infer::sub, cost::pointwise;
    /// The product, broadcasting.
    method mul(input: num, other: num;;) -> one = eval::mul, infer::mul, cost::pointwise;
    /// The quotient, broadcasting; integers give floats unless `rounding_mode` is `"floor"` or `"trunc"`.
    method div [div_with: DivOptions] (input: num, other: num;; rounding_mode: opt_string = None) -> one
        = division::div, infer::div, cost::pointwise;
    /// The quotient, rounded down.
    method floor_divide(input: num, other: num;;) -> one
        = division::floor_divide, infer::floor_divide, cost::pointwise;
    /// The remainder with the sign of the divisor.
    method remainder(input: num, other: num;;) -> one = division::remainder, infer::remainder, cost::pointwise;
    /// The remainder with the sign of the dividend.
    method fmod(input: num, other: num;;) -> one = division::fmod, infer::numeric, cost::pointwise;
    /// The first operand to the power of the second.
    method pow(input: num, exponent: num;;) -> one = eval::pow, infer::pow, cost::pointwise;
    /// The larger of two; NaN if one is.
    method maximum(input: num, other: num;;) -> one = eval::maximum, infer::numeric, cost::pointwise;
    /// The smaller of two; NaN if one is.
    method minimum(input: num, other: num;;) -> one = eval::minimum, infer::numeric, cost::pointwise;
    /// The angle of the point `(other, input)`.
    method atan2(input: num, other: num;;) -> one = eval::atan2, infer::float, cost::pointwise;
    /// `log(exp(input) + exp(other))`, without overflow.
    method logaddexp(input: one, other: one;;) -> one = eval::logaddexp, infer::floats, cost::pointwise;
    /// `sqrt(input * input + other * other)`, without overflow.
    method hypot(input: one, other: one;;) -> one = eval::hypot, infer::floats, cost::pointwise;

    /// Whether the operands are equal.
    method eq(input: num, other: num;;) -> one = eval::eq, infer::compare, cost::pointwise;
    /// Whether the operands differ.
    method ne(input: num, other: num;;) -> one = eval::ne, infer::compare, cost::pointwise;
    /// Whether the first operand is smaller.
    method lt(input: num, other: num;;) -> one = eval::lt, infer::compare, cost::pointwise;
    /// Whether the first operand is not larger.
    method le(input: num, other: num;;) -> one = eval::le, infer::compare, cost::pointwise;
    /// Whether the first operand is larger.
    method gt(input: num, other: num;;) -> one = eval::gt, infer::compare, cost::pointwise;
    /// Whether the first operand is not smaller.
    method ge(input: num, other: num;;) -> one = eval::ge, infer::compare, cost::pointwise;
    /// Whether both operands are not zero.
    method logical_and(input: num, other: num;;) -> one = eval::logical_and, infer::compare, cost::pointwise;
    /// Whether one of the operands is not zero.
    method logical_or(input: num, other: num;;) -> one = eval::logical_or, infer::compare, cost::pointwise;
    /// Whether exactly one of the operands is not zero.
    method logical_xor(input: num, other: num;;) -> one = eval::logical_xor, infer::compare, cost::pointwise;
    /// The bits that both operands have, of integers and booleans.
    method bitwise_and(input: num, other: num;;) -> one = eval::bitwise_and, infer::bits, cost::pointwise;
    /// The bits that one of the operands has, of integers and booleans.
    method bitwise_or(input: num, other: num;;) -> one = eval::bitwise_or, infer::bits, cost::pointwise;
    /// The bits that exactly one of the operands has, of integers and booleans.
    method bitwise_xor(input: num, other: num;;) -> one = eval::bitwise_xor, infer::bits, cost::pointwise;
    /// The inverted bits, of integers and booleans.
    method bitwise_not(input: one;;) -> one = eval::bitwise_not, infer::bits_of, cost::pointwise;
    /// Whether the element is zero.
    method logical_not(input: one;;) -> one = eval::logical_not, shape::mask, cost::pointwise;
    /// Whether the operands differ by at most `atol + rtol * |other|`.
    method isclose [isclose_with: IscloseOptions] (input: num, other: num;;
        rtol: float = 1e-5, atol: float = 1e-8, equal_nan: flag = false) -> one
        = eval::isclose, infer::isclose, cost::pointwise;

    /// The value without its sign.
    method abs(input: one;;) -> one = eval::abs, shape::numbers_only, cost::pointwise;
    /// The value with the other sign.
    method neg(input: num;;) -> one = eval::neg, infer::neg, cost::pointwise;
    /// -1, 0 or 1.
    method sign(input: one;;) -> one = eval::sign, shape::same, cost::pointwise;
    /// The value times itself.
    method square(input: one;;) -> one = eval::square, infer::square, cost::pointwise;
    /// `e` to the power of the value.
    method exp(input: one;;) -> one = eval::exp, shape::float, cost::pointwise;
    /// `exp(x) - 1`, precise near zero.
    method expm1(input: one;;) -> one = eval::expm1, shape::float, cost::pointwise;
    /// The natural logarithm.
    method log(input: one;;) -> one = eval::log, shape::float, cost::pointwise;
    /// `log(1 + x)`, precise near zero.
    method log1p(input: one;;) -> one = eval::log1p, shape::float, cost::pointwise;
    /// The logarithm to base 2.
    method log2(input: one;;) -> one = eval::log2, shape::float, cost::pointwise;
    /// The logarithm to base 10.
    method log10(input: one;;) -> one = eval::log10, shape::float, cost::pointwise;
    /// The square root.
    method sqrt(input: one;;) -> one = eval::sqrt, shape::float, cost::pointwise;
    /// One over the square root.
    method rsqrt(input: one;;) -> one = eval::rsqrt, shape::float, cost::pointwise;
    /// One over the value.
    method reciprocal(input: one;;) -> one = eval::reciprocal, shape::float, cost::pointwise;
    /// The sine of an angle in radians.
    method sin(input: one;;) -> one = eval::sin, shape::float, cost::pointwise;
    /// The cosine of an angle in radians.
    method cos(input: one;;) -> one = eval::cos, shape::float, cost::pointwise;
    /// The tangent of an angle in radians.
    method tan(input: one;;) -> one = eval::tan, shape::float, cost::pointwise;
    /// The angle in radians whose sine is the value.
    method asin(input: one;;) -> one = eval::asin, shape::float, cost::pointwise;
    /// The angle in radians whose cosine is the value.
    method acos(input: one;;) -> one = eval::acos, shape::float, cost::pointwise;
    /// The angle in radians whose tangent is the value.
    method atan(input: one;;) -> one = eval::atan, shape::float, cost::pointwise;
    /// The hyperbolic sine.
    method sinh(input: one;;) -> one = eval::sinh, shape::float, cost::pointwise;
    /// The hyperbolic cosine.
    method cosh(input: one;;) -> one = eval::cosh, shape::float, cost::pointwise;
    /// The inverse hyperbolic sine.
    method asinh(input: one;;) -> one = eval::asinh, shape::float, cost::pointwise;
    /// The inverse hyperbolic cosine.
    method acosh(input: one;;) -> one = eval::acosh, shape::float, cost::pointwise;
    /// The inverse hyperbolic tangent.
    method atanh(input: one;;) -> one = eval::atanh, shape::float, cost::pointwise;
    /// The hyperbolic tangent.
    method tanh(input: one;;) -> one = eval::tanh, shape::float, cost::pointwise;
    /// The error function.
    method erf(input: one;;) -> one = eval::erf, shape::float, cost::pointwise;
    /// One minus the error function.
    method erfc(input: one;;) -> one = eval::erfc, shape::float, cost::pointwise;
    /// `1 / (1 + exp(-x))`.
    method sigmoid(input: one;;) -> one = eval::sigmoid, shape::float, cost::pointwise;
    /// The largest integer that is not above.
    method floor(input: one;;) -> one = eval::floor, shape::numbers_only, cost::pointwise;
    /// The smallest integer that is not below.
    method ceil(input: one;;) -> one = eval::ceil, shape::numbers_only, cost::pointwise;
    /// The nearest integer, halves to even.
    method round(input: one;;) -> one = eval::round, shape::numbers_only, cost::pointwise;
    /// The integer part.
    method trunc(input: one;;) -> one = eval::trunc, shape::numbers_only, cost::pointwise;
    /// The part after the point.
    method frac(input: one;;) -> one = eval::frac, shape::floats_only, cost::pointwise;
    /// Whether the element is not a number.
    method isnan(input: one;;) -> one = eval::isnan, shape::mask, cost::pointwise;
    /// Whether the element is infinite.
    method isinf(input: one;;) -> one = eval::isinf, shape::mask, cost::pointwise;
    /// Whether the element is neither infinite nor NaN.
    method isfinite(input: one;;) -> one = eval::isfinite, shape::mask, cost::pointwise;

    /// The value, but at least `min` and at most `max`; one of them may be `None`.
    method clamp(input: one; min: opt_scalar, max: opt_scalar;) -> one
        = eval::clamp, infer::clamp, cost::pointwise;
    /// `input + weight * (end - input)`.
    method lerp(input: one, end: one, weight: num;;) -> one = eval::lerp, infer::lerp, cost::pointwise;
    /// `input + value * tensor1 * tensor2`.
    method addcmul [addcmul_with: AddcmulOptions] (input: one, tensor1: one, tensor2: one;;
        value: scalar = crate::Scalar::Int(1)) -> one = eval::addcmul, infer::addcmul, cost::pointwise;
    /// `input + value * tensor1 / tensor2`.
    method addcdiv [addcdiv_with: AddcdivOptions] (input: one, tensor1: one, tensor2: one;;
        value: scalar = crate::Scalar::Int(1)) -> one = eval::addcdiv, infer::addcmul, cost::pointwise;
    /// `input` where the condition holds, else `other`; see `where_`.
    raw where_(condition: one, input: num, other: num;;) -> one = eval::where_, infer::where_, cost::none,
        tolerance crate::ops::Tolerance::EXACT;
    /// `value` where the mask holds, else the element.
    method masked_fill(input: one, mask: one, value: num;;) -> one
        = eval::masked_fill, infer::masked_fill, cost::none, tolerance crate::ops::Tolerance::EXACT;
    /// Numbers in place of NaN and the infinities: 0, the largest and the smallest by default.
    method nan_to_num [nan_to_num_with: NanToNumOptions] (input: one;;
        nan: opt_float = None, posinf: opt_float = None, neginf: opt_float = None) -> one
        = eval::nan_to_num, infer::nan_to_num, cost::pointwise, tolerance crate::ops::Tolerance::EXACT;

    /// The elements converted to another type.
    method to(input: one; dtype: dtype;) -> one = eval::to, infer::to, cost::none,
        tolerance crate::ops::Tolerance::EXACT;
    /// The same elements.
    method clone_(input: one;;) -> one = eval::identity, shape::same, cost::none,
        tolerance crate::ops::Tolerance::EXACT;
    /// The same elements, in row-major order without gaps.
    method contiguous(input: one;;) -> one = eval::contiguous, shape::same, cost::none,
        tolerance crate::ops::Tolerance::EXACT;
    /// The same elements.
    method detach(input: one;;) -> one = eval::identity, shape::same, cost::none,
        tolerance crate::ops::Tolerance::EXACT;
}
