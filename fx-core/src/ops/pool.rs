//! Pooling over windows of one, two and three spatial dimensions.
//!
//! As with convolutions, one implementation for three dimensions does them all.

mod eval;
mod infer;

use super::cost;
use super::kind::{self, Encode};
use super::table::{ops, out};
use super::{Function, Tolerance, functions};
use crate::value::Call;

pub(crate) use eval::adaptive_avg as eval_adaptive_avg;

ops! {
    /// Pooling over windows.
    pub trait Pooling;

    /// The largest element of each window of `[N, C, L]` or `[C, L]`; `stride` is the window's size by default.
    method max_pool1d [max_pool1d_with: MaxPool1dOptions] (input: one; kernel_size: single;
        stride: opt_single = None, padding: single = [0], dilation: single = [1], ceil_mode: flag = false) -> one
        = eval::max, infer::max, cost::pooling, tolerance Tolerance::EXACT;
    /// The largest element of each window of `[N, C, H, W]` or `[C, H, W]`; `stride` is the window's size by default.
    method max_pool2d [max_pool2d_with: MaxPool2dOptions] (input: one; kernel_size: pair;
        stride: opt_pair = None, padding: pair = [0; 2], dilation: pair = [1; 2], ceil_mode: flag = false) -> one
        = eval::max, infer::max, cost::pooling, tolerance Tolerance::EXACT;
    /// The largest element of each window of `[N, C, D, H, W]` or `[C, D, H, W]`.
    method max_pool3d [max_pool3d_with: MaxPool3dOptions] (input: one; kernel_size: triple;
        stride: opt_triple = None, padding: triple = [0; 3], dilation: triple = [1; 3], ceil_mode: flag = false)
        -> one = eval::max, infer::max, cost::pooling, tolerance Tolerance::EXACT;
    /// As `max_pool2d`, and the places of the largest elements in their flattened channel.
    method max_pool2d_with_indices [max_pool2d_with_indices_with: MaxPool2dWithIndicesOptions] (input: one;
        kernel_size: pair; stride: opt_pair = None, padding: pair = [0; 2], dilation: pair = [1; 2],
        ceil_mode: flag = false) -> pair
        = eval::max_with_indices, infer::max_with_indices, cost::pooling, tolerance Tolerance::EXACT;
    /// The mean of each window of `[N, C, L]` or `[C, L]`; `stride` is the window's size by default.
    method avg_pool1d [avg_pool1d_with: AvgPool1dOptions] (input: one; kernel_size: single;
        stride: opt_single = None, padding: single = [0], ceil_mode: flag = false, count_include_pad: flag = true)
        -> one = eval::avg1d, infer::avg1d, cost::pooling, tolerance Tolerance::SUMMATION;
    /// The mean of each window of `[N, C, H, W]` or `[C, H, W]`; `stride` is the window's size by default.
    method avg_pool2d [avg_pool2d_with: AvgPool2dOptions] (input: one; kernel_size: pair;
        stride: opt_pair = None, padding: pair = [0; 2], ceil_mode: flag = false, count_include_pad: flag = true,
        divisor_override: opt_int = None) -> one
        = eval::avg, infer::avg, cost::pooling, tolerance Tolerance::SUMMATION;
    /// The mean of each window of `[N, C, D, H, W]` or `[C, D, H, W]`; `stride` is the window's size by default.
    method avg_pool3d [avg_pool3d_with: AvgPool3dOptions] (input: one; kernel_size: triple;
        stride: opt_triple = None, padding: triple = [0; 3], ceil_mode: flag = false, count_include_pad: flag = true,
        divisor_override: opt_int = None) -> one
        = eval::avg, infer::avg, cost::pooling, tolerance Tolerance::SUMMATION;
    /// The means of so many windows that cover the input.
    method adaptive_avg_pool1d(input: one; output_size: single;) -> one
        = eval::adaptive_avg, infer::adaptive_avg, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The means of so many windows that cover the input.
    method adaptive_avg_pool2d(input: one; output_size: pair;) -> one
        = eval::adaptive_avg, infer::adaptive_avg, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The means of so many windows that cover the input.
    method adaptive_avg_pool3d(input: one; output_size: triple;) -> one
        = eval::adaptive_avg, infer::adaptive_avg, cost::reduction, tolerance Tolerance::SUMMATION;
    /// The largest elements of so many windows that cover the input.
    method adaptive_max_pool1d(input: one; output_size: single;) -> one
        = eval::adaptive_max, infer::adaptive_max, cost::reduction, tolerance Tolerance::EXACT;
    /// The largest elements of so many windows that cover the input.
    method adaptive_max_pool2d(input: one; output_size: pair;) -> one
        = eval::adaptive_max, infer::adaptive_max, cost::reduction, tolerance Tolerance::EXACT;
    /// The largest elements of so many windows that cover the input.
    method adaptive_max_pool3d(input: one; output_size: triple;) -> one
        = eval::adaptive_max, infer::adaptive_max, cost::reduction, tolerance Tolerance::EXACT;
    /// The `norm_type`-norm of each window.
    method lp_pool2d [lp_pool2d_with: LpPool2dOptions] (input: one; norm_type: float, kernel_size: pair;
        stride: opt_pair = None, ceil_mode: flag = false) -> one
        = eval::lp, infer::lp, cost::pooling, tolerance Tolerance::SUMMATION;
}

/// Means of windows over one, two and three dimensions.
pub(crate) const AVERAGES: [Function; 6] = [
    functions::avg_pool1d,
    functions::avg_pool2d,
    functions::avg_pool3d,
    functions::adaptive_avg_pool1d,
    functions::adaptive_avg_pool2d,
    functions::adaptive_avg_pool3d,
];

/// Whether a function gives means of its first argument's numbers, of all along some dimensions or of windows.
pub(crate) fn is_mean(function: Function) -> bool {
    function == functions::mean || AVERAGES.contains(&function)
}
