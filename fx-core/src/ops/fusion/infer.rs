//! Shapes and element types of fused calls.

use std::borrow::Cow;

use super::attr;
use crate::error::Result;
use crate::ops::kind::Padding;
use crate::ops::shape::{self, Side};
use crate::ops::{conv, linalg, quantize};
use crate::value::TensorMeta;

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn conv<const N: usize>(
    x: &TensorMeta,
    weight: &TensorMeta,
    bias: Option<&TensorMeta>,
    other: Option<&TensorMeta>,
    stride: [usize; N],
    padding: Padding<N>,
    dilation: [usize; N],
    groups: i64,
    attr: Cow<'static, str>,
) -> Result<TensorMeta> {
    finish(conv::infer_conv(x, weight, bias, stride, padding, dilation, groups)?, other, &attr)
}

pub(super) fn linear(
    x: &TensorMeta,
    weight: &TensorMeta,
    bias: Option<&TensorMeta>,
    other: Option<&TensorMeta>,
    attr: Cow<'static, str>,
) -> Result<TensorMeta> {
    finish(linalg::infer_linear(x, weight, bias)?, other, &attr)
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn qconv<const N: usize>(
    x: &TensorMeta,
    weight: &TensorMeta,
    weight_scale: &TensorMeta,
    bias: Option<&TensorMeta>,
    other: Option<&TensorMeta>,
    min: i64,
    max: i64,
    scale: Option<f64>,
    zero_point: i64,
    other_scale: Option<f64>,
    other_zero_point: i64,
    other_min: i64,
    other_max: i64,
    stride: [usize; N],
    padding: Padding<N>,
    dilation: [usize; N],
    groups: i64,
    attr: Cow<'static, str>,
) -> Result<TensorMeta> {
    let (x, weight) = quantize::require_operands(x, (scale, zero_point), [min, max], (weight, weight_scale, 0))?;
    require_added(other, (other_scale, other_zero_point), [other_min, other_max])?;
    conv(&x, &weight, bias, other, stride, padding, dilation, groups, attr)
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn qconv_transpose<const N: usize>(
    x: &TensorMeta,
    weight: &TensorMeta,
    weight_scale: &TensorMeta,
    bias: Option<&TensorMeta>,
    min: i64,
    max: i64,
    scale: Option<f64>,
    zero_point: i64,
    stride: [usize; N],
    padding: [usize; N],
    output_padding: [usize; N],
    groups: i64,
    dilation: [usize; N],
) -> Result<TensorMeta> {
    let (x, weight) = quantize::require_operands(x, (scale, zero_point), [min, max], (weight, weight_scale, 1))?;
    conv::infer_conv_transpose(&x, &weight, bias, stride, padding, output_padding, groups, dilation)
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn qlinear(
    x: &TensorMeta,
    weight: &TensorMeta,
    weight_scale: &TensorMeta,
    bias: Option<&TensorMeta>,
    other: Option<&TensorMeta>,
    min: i64,
    max: i64,
    scale: Option<f64>,
    zero_point: i64,
    other_scale: Option<f64>,
    other_zero_point: i64,
    other_min: i64,
    other_max: i64,
    attr: Cow<'static, str>,
) -> Result<TensorMeta> {
    let (x, weight) = quantize::require_operands(x, (scale, zero_point), [min, max], (weight, weight_scale, 0))?;
    require_added(other, (other_scale, other_zero_point), [other_min, other_max])?;
    linear(&x, &weight, bias, other, attr)
}

/// Checks that what is added can be quantized, where there is a scale for that.
fn require_added(other: Option<&TensorMeta>, (scale, zero_point): (Option<f64>, i64), range: [i64; 2]) -> Result<()> {
    match (other, scale) {
        (Some(other), Some(scale)) => quantize::require_rounded(other, "other_", (Some(scale), zero_point), range),
        _ => Ok(()),
    }
}

fn finish(product: TensorMeta, other: Option<&TensorMeta>, attr: &str) -> Result<TensorMeta> {
    attr::parse(attr)?;
    match other {
        Some(other) => shape::elementwise(&Side::Tensor(&product), &Side::Tensor(other)),
        None => Ok(product),
    }
}
