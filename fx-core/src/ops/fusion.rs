//! Products with what follows them, in one call. Models are not written with these: passes make them, for a kernel
//! that adds and activates while a result is still in registers.

mod attr;
mod eval;
mod infer;

use super::cost;
use super::kind::{self, Encode, Padding};
use super::table::{ops, out};
use super::{Definition, Function, Style, Tolerance, functions};
use crate::value::Call;

pub use attr::Attr;

/// Products, alone and with what follows them.
pub(crate) const FUSED: [(Function, Function); 4] = [
    (functions::conv1d, functions::conv1d_pointwise),
    (functions::conv2d, functions::conv2d_pointwise),
    (functions::conv3d, functions::conv3d_pointwise),
    (functions::linear, functions::linear_pointwise),
];

/// Which operand of an op of this family is added to the product, before the function that its attribute `attr` names.
pub(crate) fn added_operand(function: Function) -> Option<usize> {
    let Definition { operands, attributes, source, .. } = function.definition();
    let is_fused = source.style != Style::Wrapped && attributes.iter().any(|attribute| attribute.name == "attr");
    is_fused.then(|| operands.iter().position(|operand| operand.name == "other"))?
}

/// The attributes by which a call quantizes what it adds: the scale, the zero point, and the smallest and the largest integer.
pub(crate) const OF_ADDED: [&str; 4] = ["other_scale", "other_zero_point", "other_quant_min", "other_quant_max"];

ops! {
    /// Products with what follows them.
    pub trait Fusion;

    /// `attr(conv2d(input, weight, bias) + other)`; [`Attr`](crate::ops::Attr) is the text of an elementwise function.
    method conv2d_pointwise [conv2d_pointwise_with: Conv2dPointwiseOptions]
        (input: one, weight: one, bias: opt, other: opt;;
        stride: pair = [1; 2], padding: margin2 = Padding::Explicit([0; 2]), dilation: pair = [1; 2],
        groups: int = 1, attr: string = "none".into()) -> one
        = eval::conv, infer::conv, cost::conv, tolerance Tolerance::SUMMATION;
    /// `attr(conv1d(input, weight, bias) + other)`; see `conv2d_pointwise`.
    method conv1d_pointwise [conv1d_pointwise_with: Conv1dPointwiseOptions]
        (input: one, weight: one, bias: opt, other: opt;;
        stride: single = [1], padding: margin1 = Padding::Explicit([0]), dilation: single = [1],
        groups: int = 1, attr: string = "none".into()) -> one
        = eval::conv, infer::conv, cost::conv, tolerance Tolerance::SUMMATION;
    /// `attr(conv3d(input, weight, bias) + other)`; see `conv2d_pointwise`.
    method conv3d_pointwise [conv3d_pointwise_with: Conv3dPointwiseOptions]
        (input: one, weight: one, bias: opt, other: opt;;
        stride: triple = [1; 3], padding: margin3 = Padding::Explicit([0; 3]), dilation: triple = [1; 3],
        groups: int = 1, attr: string = "none".into()) -> one
        = eval::conv, infer::conv, cost::conv, tolerance Tolerance::SUMMATION;
    /// `attr(linear(input, weight, bias) + other)`; [`Attr`](crate::ops::Attr) is the text of an elementwise function.
    method linear_pointwise [linear_pointwise_with: LinearPointwiseOptions]
        (input: one, weight: one, bias: opt, other: opt;; attr: string = "none".into()) -> one
        = eval::linear, infer::linear, cost::matmul, tolerance Tolerance::SUMMATION;
    /// `conv2d_pointwise` of quantized values: the input is quantized per tensor and dequantized, the weight are integers in i8,
    /// each output's with a scale. Without `scale` both it and the zero point are those that `choose_qparams` gives. With
    /// `other_scale` what is added is quantized and dequantized too.
    method qconv2d_pointwise [qconv2d_pointwise_with: Qconv2dPointwiseOptions]
        (input: one, weight: one, weight_scale: one, bias: opt, other: opt; quant_min: int, quant_max: int;
        scale: opt_float = None, zero_point: int = 0, other_scale: opt_float = None,
        other_zero_point: int = 0, other_quant_min: int = 0, other_quant_max: int = 255, stride: pair = [1; 2],
        padding: margin2 = Padding::Explicit([0; 2]), dilation: pair = [1; 2], groups: int = 1,
        attr: string = "none".into()) -> one
        = eval::qconv, infer::qconv, cost::conv, tolerance Tolerance::SUMMATION;
    /// `conv1d` of quantized values, with what follows it; see `qconv2d_pointwise`.
    method qconv1d_pointwise [qconv1d_pointwise_with: Qconv1dPointwiseOptions]
        (input: one, weight: one, weight_scale: one, bias: opt, other: opt; quant_min: int, quant_max: int;
        scale: opt_float = None, zero_point: int = 0, other_scale: opt_float = None,
        other_zero_point: int = 0, other_quant_min: int = 0, other_quant_max: int = 255, stride: single = [1],
        padding: margin1 = Padding::Explicit([0]), dilation: single = [1], groups: int = 1,
        attr: string = "none".into()) -> one
        = eval::qconv, infer::qconv, cost::conv, tolerance Tolerance::SUMMATION;
    /// `conv3d` of quantized values, with what follows it; see `qconv2d_pointwise`.
    method qconv3d_pointwise [qconv3d_pointwise_with: Qconv3dPointwiseOptions]
        (input: one, weight: one, weight_scale: one, bias: opt, other: opt; quant_min: int, quant_max: int;
        scale: opt_float = None, zero_point: int = 0, other_scale: opt_float = None,
        other_zero_point: int = 0, other_quant_min: int = 0, other_quant_max: int = 255, stride: triple = [1; 3],
        padding: margin3 = Padding::Explicit([0; 3]), dilation: triple = [1; 3], groups: int = 1,
        attr: string = "none".into()) -> one
        = eval::qconv, infer::qconv, cost::conv, tolerance Tolerance::SUMMATION;
    /// `conv_transpose2d` of quantized values; see `qconv2d_pointwise`. There is a scale for each index of the weight's second
    /// dimension.
    method qconv_transpose2d [qconv_transpose2d_with: QconvTranspose2dOptions]
        (input: one, weight: one, weight_scale: one, bias: opt; quant_min: int, quant_max: int;
        scale: opt_float = None, zero_point: int = 0, stride: pair = [1; 2], padding: pair = [0; 2],
        output_padding: pair = [0; 2], groups: int = 1, dilation: pair = [1; 2]) -> one
        = eval::qconv_transpose, infer::qconv_transpose, cost::conv_transpose, tolerance Tolerance::SUMMATION;
    /// `conv_transpose1d` of quantized values; see `qconv_transpose2d`.
    method qconv_transpose1d [qconv_transpose1d_with: QconvTranspose1dOptions]
        (input: one, weight: one, weight_scale: one, bias: opt; quant_min: int, quant_max: int;
        scale: opt_float = None, zero_point: int = 0, stride: single = [1], padding: single = [0],
        output_padding: single = [0], groups: int = 1, dilation: single = [1]) -> one
        = eval::qconv_transpose, infer::qconv_transpose, cost::conv_transpose, tolerance Tolerance::SUMMATION;
    /// `linear_pointwise` of quantized values; see `qconv2d_pointwise`.
    method qlinear_pointwise [qlinear_pointwise_with: QlinearPointwiseOptions]
        (input: one, weight: one, weight_scale: one, bias: opt, other: opt; quant_min: int, quant_max: int;
        scale: opt_float = None, zero_point: int = 0, other_scale: opt_float = None,
        other_zero_point: int = 0, other_quant_min: int = 0, other_quant_max: int = 255, attr: string = "none".into()) -> one
        = eval::qlinear, infer::qlinear, cost::matmul, tolerance Tolerance::SUMMATION;
}
