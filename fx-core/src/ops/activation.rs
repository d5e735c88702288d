//! Activations: the functions between layers.

mod eval;
mod infer;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::shape;
use super::table::{ops, out};
use crate::value::Call;

pub(crate) use eval::log_softmax as eval_log_softmax;

ops! {
    /// Activations: the functions between layers.
    pub trait Activation;

    /// `max(x, 0)`.
    method relu(input: one;;) -> one = eval::relu, shape::numbers_only, cost::pointwise, tolerance Tolerance::EXACT;
    /// `min(max(x, 0), 6)`.
    method relu6(input: one;;) -> one = eval::relu6, shape::numbers_only, cost::pointwise, tolerance Tolerance::EXACT;
    /// `x` above 0, else `alpha * (exp(x) - 1)` (Clevert et al., 2015).
    method elu [elu_with: EluOptions] (input: one;; alpha: float = 1.0) -> one
        = eval::elu, infer::float1, cost::pointwise;
    /// The self-normalising `elu` (Klambauer et al., 2017).
    method selu(input: one;;) -> one = eval::selu, shape::floats_only, cost::pointwise;
    /// `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` (Barron, 2017).
    method celu [celu_with: CeluOptions] (input: one;; alpha: float = 1.0) -> one
        = eval::celu, infer::celu, cost::pointwise;
    /// `x` above 0, else `negative_slope * x`.
    method leaky_relu [leaky_relu_with: LeakyReluOptions] (input: one;; negative_slope: float = 0.01) -> one
        = eval::leaky_relu, infer::float1, cost::pointwise;
    /// `x` above 0, else `weight * x`; one weight, or one for each element of the second dimension.
    method prelu(input: one, weight: one;;) -> one = eval::prelu, infer::prelu, cost::pointwise;
    /// `x` times the normal distribution function (Hendrycks and Gimpel, 2016); `approximate` is `"none"` or `"tanh"`.
    method gelu [gelu_with: GeluOptions] (input: one;; approximate: string = "none".into()) -> one
        = eval::gelu, infer::gelu, cost::pointwise;
    /// `x * sigmoid(x)`.
    method silu(input: one;;) -> one = eval::silu, shape::floats_only, cost::pointwise;
    /// `x * tanh(softplus(x))` (Misra, 2019).
    method mish(input: one;;) -> one = eval::mish, shape::floats_only, cost::pointwise;
    /// `log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x` is above `threshold`.
    method softplus [softplus_with: SoftplusOptions] (input: one;; beta: float = 1.0, threshold: float = 20.0) -> one
        = eval::softplus, infer::float2, cost::pointwise;
    /// `x / (1 + |x|)`.
    method softsign(input: one;;) -> one = eval::softsign, shape::float, cost::pointwise;
    /// The value, but at least `min_val` and at most `max_val`.
    method hardtanh [hardtanh_with: HardtanhOptions] (input: one;; min_val: float = -1.0, max_val: float = 1.0) -> one
        = eval::hardtanh, infer::hardtanh, cost::pointwise, tolerance Tolerance::EXACT;
    /// `relu6(x + 3) / 6`.
    method hardsigmoid(input: one;;) -> one = eval::hardsigmoid, shape::floats_only, cost::pointwise;
    /// `x * relu6(x + 3) / 6` (Howard et al., 2019).
    method hardswish(input: one;;) -> one = eval::hardswish, shape::floats_only, cost::pointwise;
    /// `log(sigmoid(x))`.
    method logsigmoid(input: one;;) -> one = eval::logsigmoid, shape::floats_only, cost::pointwise;
    /// `x - tanh(x)`.
    method tanhshrink(input: one;;) -> one = eval::tanhshrink, shape::float, cost::pointwise;
    /// The value moved towards 0 by `lambd`, 0 within it.
    method softshrink [softshrink_with: SoftshrinkOptions] (input: one;; lambd: float = 0.5) -> one
        = eval::softshrink, infer::softshrink, cost::pointwise;
    /// The value where it is farther from 0 than `lambd`, else 0.
    method hardshrink [hardshrink_with: HardshrinkOptions] (input: one;; lambd: float = 0.5) -> one
        = eval::hardshrink, infer::float1, cost::pointwise, tolerance Tolerance::EXACT;
    /// The element where it is above `threshold`, else `value`.
    method threshold(input: one; threshold: float, value: float;) -> one
        = eval::threshold, infer::threshold, cost::pointwise, tolerance Tolerance::EXACT;
    /// The first half of a dimension times the sigmoid of the second (Dauphin et al., 2016).
    method glu [glu_with: GluOptions] (input: one;; dim: int = -1) -> one = eval::glu, infer::glu, cost::pointwise;

    /// `exp(x)` over the sum of it along a dimension.
    method softmax(input: one; dim: int;) -> one = eval::softmax, infer::along, cost::normalisation,
        tolerance Tolerance::SUMMATION;
    /// The softmax of `-x`.
    method softmin(input: one; dim: int;) -> one = eval::softmin, infer::along, cost::normalisation,
        tolerance Tolerance::SUMMATION;
    /// The logarithm of the softmax.
    method log_softmax(input: one; dim: int;) -> one = eval::log_softmax, infer::along, cost::normalisation,
        tolerance Tolerance::SUMMATION;
    /// The elements over their norm along dimensions, which is taken as at least `eps`.
    method normalize [normalize_with: NormalizeOptions] (input: one;; p: float = 2.0,
        dim: ints = smallvec::smallvec![1], eps: float = 1e-12) -> one
        = eval::normalize, infer::normalize, cost::normalisation, tolerance Tolerance::SUMMATION;

    /// In training, 0 with probability `p`, else the element over `1 - p`; otherwise the element.
    method dropout(input: one; p: float, training: flag;) -> one
        = eval::dropout, infer::dropout, cost::pointwise, effect Random;
    /// As `dropout`, for whole channels: the elements of the first two dimensions.
    method feature_dropout(input: one; p: float, training: flag;) -> one
        = eval::feature_dropout, infer::dropout, cost::pointwise, effect Random;
}
