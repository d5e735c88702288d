//! Fused calls on tensors: their parts in a row.

use std::borrow::Cow;

use super::attr;
use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::ops::functions as ops;
use crate::ops::kind::Padding;
use crate::ops::{Function, conv, linalg, quantize};
use crate::tensor::Tensor;

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn conv<const N: usize>(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    other: Option<&Tensor>,
    stride: [usize; N],
    padding: Padding<N>,
    dilation: [usize; N],
    groups: i64,
    attr: Cow<'static, str>,
) -> Result<Arg<Tensor>> {
    finish(conv::eval_conv(x, weight, bias, stride, padding, dilation, groups)?, other, &attr)
}

pub(super) fn linear(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    other: Option<&Tensor>,
    attr: Cow<'static, str>,
) -> Result<Arg<Tensor>> {
    finish(linalg::eval_linear(x, weight, bias)?, other, &attr)
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn qconv<const N: usize>(
    x: &Tensor,
    weight: &Tensor,
    weight_scale: &Tensor,
    bias: Option<&Tensor>,
    other: Option<&Tensor>,
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
) -> Result<Arg<Tensor>> {
    let (x, weight) = quantize::operands(x, (scale, zero_point), [min, max], (weight, weight_scale, 0))?;
    let other = added(other, (other_scale, other_zero_point), [other_min, other_max]);
    conv(&x, &weight, bias, other.as_deref(), stride, padding, dilation, groups, attr)
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn qconv_transpose<const N: usize>(
    x: &Tensor,
    weight: &Tensor,
    weight_scale: &Tensor,
    bias: Option<&Tensor>,
    min: i64,
    max: i64,
    scale: Option<f64>,
    zero_point: i64,
    stride: [usize; N],
    padding: [usize; N],
    output_padding: [usize; N],
    groups: i64,
    dilation: [usize; N],
) -> Result<Tensor> {
    let (x, weight) = quantize::operands(x, (scale, zero_point), [min, max], (weight, weight_scale, 1))?;
    conv::eval_conv_transpose(&x, &weight, bias, stride, padding, output_padding, groups, dilation)
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn qlinear(
    x: &Tensor,
    weight: &Tensor,
    weight_scale: &Tensor,
    bias: Option<&Tensor>,
    other: Option<&Tensor>,
    min: i64,
    max: i64,
    scale: Option<f64>,
    zero_point: i64,
    other_scale: Option<f64>,
    other_zero_point: i64,
    other_min: i64,
    other_max: i64,
    attr: Cow<'static, str>,
) -> Result<Arg<Tensor>> {
    let (x, weight) = quantize::operands(x, (scale, zero_point), [min, max], (weight, weight_scale, 0))?;
    let other = added(other, (other_scale, other_zero_point), [other_min, other_max]);
    linear(&x, &weight, bias, other.as_deref(), attr)
}

/// What is added, quantized and dequantized where there is a scale for that.
fn added(other: Option<&Tensor>, (scale, zero_point): (Option<f64>, i64), range: [i64; 2]) -> Option<Cow<'_, Tensor>> {
    let other = other?;
    Some(match scale {
        Some(scale) => Cow::Owned(quantize::rounded(other, (scale, zero_point), range)),
        None => Cow::Borrowed(other),
    })
}

fn finish(product: Tensor, other: Option<&Tensor>, text: &str) -> Result<Arg<Tensor>> {
    let call = |function: Function, args: &[Arg<Tensor>], kwargs: &Kwargs<Tensor>| function.eval(args, kwargs);
    let sum = match other {
        Some(other) => call(ops::add, &[Arg::Value(product), Arg::Value(other.clone())], &Kwargs::new())?,
        None => Arg::Value(product),
    };
    match attr::parse(text)? {
        Some(attr) => {
            let (function, kwargs) = attr.call();
            call(function, &[sum], &kwargs)
        }
        None => Ok(sum),
    }
}
