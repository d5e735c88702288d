//! Integers for floats, by a scale and a zero point: PyTorch's `torch.ops.quantized_decomposed`.
//!
//! A float `x` is kept as `round(x / scale) + zero_point` within a range of integers. Everything is computed in f32. Where
//! PyTorch converts what its C++ leaves open, results are fixed here: NaN becomes 0, and what an i32 cannot hold the nearest
//! number that it can.

mod eval;
mod infer;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use crate::value::Call;

pub(crate) use eval::{EPS, chosen};
pub(super) use eval::{operands, rounded};
pub(crate) use infer::{is_bytes, is_scale};
pub(super) use infer::{require_operands, require_rounded};

ops! {
    /// Integers for floats, by a scale and a zero point.
    pub trait Quantization;

    /// `clamp(round(input / scale) + zero_point, quant_min, quant_max)` as `dtype`, one of u8, i8 and i32; ties go to
    /// the even number. The scale and the zero point are numbers, or tensors of one element.
    method quantize_per_tensor(input: one, scale: num, zero_point: num; quant_min: int, quant_max: int, dtype: dtype;)
        -> one = eval::quantize_per_tensor, infer::quantize_per_tensor, cost::pointwise, tolerance Tolerance::EXACT;
    /// `(input - zero_point) * scale` in f32. The scale and the zero point are numbers, or tensors of one element.
    method dequantize_per_tensor(input: one, scale: num, zero_point: num;;) -> one
        = eval::dequantize_per_tensor, infer::dequantize_per_tensor, cost::pointwise;
    /// As `quantize_per_tensor`, with a scale and a zero point for each index of the dimension `axis`; without zero points
    /// all are 0.
    method quantize_per_channel(input: one, scales: one, zero_points: opt;
        axis: int, quant_min: int, quant_max: int, dtype: dtype;) -> one
        = eval::quantize_per_channel, infer::quantize_per_channel, cost::pointwise, tolerance Tolerance::EXACT;
    /// As `dequantize_per_tensor`, with a scale and a zero point for each index of the dimension `axis`; without zero
    /// points all are 0.
    method dequantize_per_channel(input: one, scales: one, zero_points: opt; axis: int;) -> one
        = eval::dequantize_per_channel, infer::dequantize_per_channel, cost::pointwise;
    /// What quantizing and dequantizing makes of a float, in f32; NaN becomes the smallest number.
    method fake_quantize_per_tensor_affine(input: one, scale: num, zero_point: num; quant_min: int, quant_max: int;)
        -> one = eval::fake_quantize, infer::fake_quantize, cost::pointwise, like input;
    /// The scale, an f32 tensor of one element (PyTorch's is in f64), and the zero point, one of i64, that spread the
    /// integers over all elements of the input and 0; `eps` is the least scale. If there is a NaN, the scale is NaN.
    method choose_qparams [choose_qparams_with: ChooseQparamsOptions]
        (input: one; quant_min: int, quant_max: int; eps: float = EPS) -> pair
        = eval::choose_qparams, infer::choose_qparams, cost::reduction;
}
