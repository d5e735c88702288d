//! Convolutions over one, two and three spatial dimensions.
//!
//! All are computed by one implementation for three dimensions: the missing ones are in front, of size 1.

mod eval;
mod fold;
mod infer;
mod packed;
mod transpose;
mod window;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode, Padding};
use super::table::{ops, out};
use crate::value::Call;

pub(crate) use eval::conv as eval_conv;
pub(crate) use infer::{conv as infer_conv, conv_transpose as infer_conv_transpose};
pub(crate) use transpose::conv as eval_conv_transpose;
pub(crate) use window::{Plane, lift};

ops! {
    /// Convolutions.
    pub trait Convolution;

    /// Convolution over one dimension: input `[N, C, L]` or `[C, L]`, weight `[out, C / groups, k]`.
    method conv1d [conv1d_with: Conv1dOptions] (input: one, weight: one, bias: opt;;
        stride: single = [1], padding: margin1 = Padding::Explicit([0]), dilation: single = [1], groups: int = 1)
        -> one = eval::conv, infer::conv, cost::conv, tolerance Tolerance::SUMMATION;
    /// Convolution over two dimensions: input `[N, C, H, W]` or `[C, H, W]`, weight `[out, C / groups, kh, kw]`.
    method conv2d [conv2d_with: Conv2dOptions] (input: one, weight: one, bias: opt;;
        stride: pair = [1; 2], padding: margin2 = Padding::Explicit([0; 2]), dilation: pair = [1; 2],
        groups: int = 1) -> one = eval::conv, infer::conv, cost::conv, tolerance Tolerance::SUMMATION;
    /// Convolution over three dimensions: input `[N, C, D, H, W]` or `[C, D, H, W]`.
    method conv3d [conv3d_with: Conv3dOptions] (input: one, weight: one, bias: opt;;
        stride: triple = [1; 3], padding: margin3 = Padding::Explicit([0; 3]), dilation: triple = [1; 3],
        groups: int = 1) -> one = eval::conv, infer::conv, cost::conv, tolerance Tolerance::SUMMATION;
    /// Transposed convolution over one dimension: weight `[C, out / groups, k]`.
    method conv_transpose1d [conv_transpose1d_with: ConvTranspose1dOptions] (input: one, weight: one, bias: opt;;
        stride: single = [1], padding: single = [0], output_padding: single = [0], groups: int = 1,
        dilation: single = [1]) -> one
        = transpose::conv, infer::conv_transpose, cost::conv_transpose, tolerance Tolerance::SUMMATION;
    /// Transposed convolution over two dimensions: weight `[C, out / groups, kh, kw]`.
    method conv_transpose2d [conv_transpose2d_with: ConvTranspose2dOptions] (input: one, weight: one, bias: opt;;
        stride: pair = [1; 2], padding: pair = [0; 2], output_padding: pair = [0; 2], groups: int = 1,
        dilation: pair = [1; 2]) -> one
        = transpose::conv, infer::conv_transpose, cost::conv_transpose, tolerance Tolerance::SUMMATION;
    /// Transposed convolution over three dimensions: weight `[C, out / groups, kd, kh, kw]`.
    method conv_transpose3d [conv_transpose3d_with: ConvTranspose3dOptions] (input: one, weight: one, bias: opt;;
        stride: triple = [1; 3], padding: triple = [0; 3], output_padding: triple = [0; 3], groups: int = 1,
        dilation: triple = [1; 3]) -> one
        = transpose::conv, infer::conv_transpose, cost::conv_transpose, tolerance Tolerance::SUMMATION;

    /// The windows of an image as columns, `[N, C, H, W]` to `[N, C * kh * kw, windows]`, with or without the batch. This is
    /// `torch.nn.functional.unfold`; `unfold` is the method of that name of PyTorch's tensors.
    method im2col [im2col_with: Im2colOptions] (input: one; kernel_size: pair; dilation: pair = [1; 2],
        padding: pair = [0; 2], stride: pair = [1; 2]) -> one
        = fold::im2col, fold::im2col_shape, cost::none, tolerance Tolerance::EXACT;
    /// An image as the sum of its windows: `[N, C * kh * kw, windows]` to `[N, C, H, W]`, with or without the batch.
    method fold [fold_with: FoldOptions] (input: one; output_size: sizes, kernel_size: pair; dilation: pair = [1; 2],
        padding: pair = [0; 2], stride: pair = [1; 2]) -> one
        = fold::fold, fold::fold_shape, cost::reduction, tolerance Tolerance::SUMMATION;
}
