//! Shapes and element types of quantized values, and what may not be asked for.

use crate::error::{Error, Result};
use crate::ops::kind::Num;
use crate::ops::shape;
use crate::tensor::{DType, Scalar};
use crate::value::{Dim, Meta, TensorMeta};

type Number<'a> = Num<'a, Meta>;

/// Checks that floats can be computed in f32.
fn require_single(x: &TensorMeta) -> Result<()> {
    if matches!(x.dtype, DType::F32 | DType::F16 | DType::BF16) {
        return Ok(());
    }
    Err(Error::dtype(format!("takes f32, f16 or bf16, found {}", x.dtype)).help("convert with `to` first"))
}

fn require_quantized(x: &TensorMeta) -> Result<()> {
    if matches!(x.dtype, DType::U8 | DType::I8 | DType::I32) {
        return Ok(());
    }
    Err(Error::dtype(format!("takes u8, i8 or i32, found {}", x.dtype))
        .help("the input is what `quantize_per_tensor` or `quantize_per_channel` gave"))
}

/// Checks that a range is one.
fn require_range(min: i64, max: i64) -> Result<()> {
    if min < max {
        return Ok(());
    }
    Err(Error::argument(format!("`quant_min` must be less than `quant_max`, found {min} and {max}")))
}

/// Checks that a range is one of numbers that an element type has.
fn require_fits(min: i64, max: i64, dtype: DType) -> Result<()> {
    let (least, most) = match dtype {
        DType::U8 => (0, 255),
        DType::I8 => (-128, 127),
        DType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => return Err(Error::dtype(format!("cannot quantize to {dtype}")).help("`dtype` is u8, i8 or i32")),
    };
    require_range(min, max)?;
    if min < least || max > most {
        return Err(Error::argument(format!(
            "`quant_min` and `quant_max` must be from {least} to {most} for {dtype}, found {min} and {max}"
        )));
    }
    Ok(())
}

/// Checks that 0 is among integers, so that it can stand for 0.
fn require_zero(min: i64, max: i64) -> Result<()> {
    if (min..=max).contains(&0) {
        return Ok(());
    }
    Err(Error::argument(format!("the range from `quant_min` to `quant_max` must have 0, found {min} to {max}")))
}

/// Whether kernels take integers of a range: those of u8 or of i8, or a part of them.
pub(crate) fn is_bytes(min: i64, max: i64) -> bool {
    min >= 0 && max <= 255 || min >= -128 && max <= 127
}

/// Whether kernels take a scale: it is more than 0 and finite, in f32 too.
pub(crate) fn is_scale(scale: f64) -> bool {
    scale as f32 > 0.0 && (scale as f32).is_finite()
}

/// Checks a scale and a zero point; those that are tensors have one element.
fn require_qparams(scale: &Number<'_>, zero_point: &Number<'_>) -> Result<()> {
    for (number, name) in [(scale, "scale"), (zero_point, "zero_point")] {
        let Num::Tensor(tensor) = number else { continue };
        if !tensor.numel().may_eq(&Dim::Int(1)) {
            return Err(Error::shape(format!("`{name}` must have one element, found {tensor}"))
                .help("`quantize_per_channel` and `dequantize_per_channel` take one for each index of a dimension"));
        }
    }
    if matches!(scale, Num::Scalar(scale) if scale.to_f64() == 0.0) {
        return Err(Error::argument("`scale` must not be 0"));
    }
    match zero_point {
        Num::Tensor(tensor) => shape::require_int(tensor, "`zero_point`"),
        Num::Scalar(Scalar::Float(x)) => Err(Error::argument(format!("`zero_point` must be an int, found {x:?}"))),
        _ => Ok(()),
    }
}

/// Checks scales and zero points for each index of a dimension.
fn require_channels(x: &TensorMeta, scales: &TensorMeta, zero_points: Option<&TensorMeta>, axis: i64) -> Result<()> {
    shape::require_ndim(x, "the input", 1.., "at least 1")?;
    let channels = &x.shape[shape::dim(axis, x.ndim())?];
    for (operand, name) in [(Some(scales), "scales"), (zero_points, "zero_points")] {
        let Some(operand) = operand else { continue };
        if operand.ndim() != 1 || !operand.shape[0].may_eq(channels) {
            return Err(Error::shape(format!(
                "`{name}` must have one element for each of {channels} indices of dimension {axis}, found {operand}"
            )));
        }
    }
    if scales.dtype != DType::F32 {
        return Err(
            Error::dtype(format!("`scales` must be f32, found {}", scales.dtype)).help("convert with `to` first")
        );
    }
    zero_points.map_or(Ok(()), |zero_points| shape::require_int(zero_points, "`zero_points`"))
}

pub(super) fn quantize_per_tensor(
    x: &TensorMeta,
    scale: Number<'_>,
    zero_point: Number<'_>,
    min: i64,
    max: i64,
    dtype: DType,
) -> Result<TensorMeta> {
    require_single(x)?;
    require_fits(min, max, dtype)?;
    require_qparams(&scale, &zero_point)?;
    Ok(x.with_dtype(dtype))
}

pub(super) fn dequantize_per_tensor(x: &TensorMeta, scale: Number<'_>, zero_point: Number<'_>) -> Result<TensorMeta> {
    require_quantized(x)?;
    require_qparams(&scale, &zero_point)?;
    Ok(x.with_dtype(DType::F32))
}

pub(super) fn quantize_per_channel(
    x: &TensorMeta,
    scales: &TensorMeta,
    zero_points: Option<&TensorMeta>,
    axis: i64,
    min: i64,
    max: i64,
    dtype: DType,
) -> Result<TensorMeta> {
    require_single(x)?;
    require_fits(min, max, dtype)?;
    require_channels(x, scales, zero_points, axis)?;
    Ok(x.with_dtype(dtype))
}

pub(super) fn dequantize_per_channel(
    x: &TensorMeta,
    scales: &TensorMeta,
    zero_points: Option<&TensorMeta>,
    axis: i64,
) -> Result<TensorMeta> {
    require_quantized(x)?;
    require_channels(x, scales, zero_points, axis)?;
    Ok(x.with_dtype(DType::F32))
}

pub(super) fn fake_quantize(
    x: &TensorMeta,
    scale: Number<'_>,
    zero_point: Number<'_>,
    min: i64,
    max: i64,
) -> Result<TensorMeta> {
    if x.dtype != DType::F32 {
        return Err(Error::dtype(format!("takes f32, found {}", x.dtype)).help("convert with `to` first"));
    }
    require_range(min, max)?;
    require_qparams(&scale, &zero_point)?;
    match zero_point {
        Num::Scalar(x) if !(min..=max).contains(&x.to_i64()) => {
            Err(Error::argument(format!("`zero_point` must be from {min} to {max}, found {}", x.to_i64())))
        }
        _ => Ok(x.clone()),
    }
}

pub(super) fn choose_qparams(x: &TensorMeta, min: i64, max: i64, _: f64) -> Result<(TensorMeta, TensorMeta)> {
    require_single(x)?;
    require_range(min, max)?;
    require_zero(min, max)?;
    if x.shape.iter().any(|dim| dim.as_int() == Some(0)) {
        return Err(Error::shape(format!("there is no smallest and no largest element in {x}")));
    }
    Ok((TensorMeta::new([1], DType::F32), TensorMeta::new([1], DType::I64)))
}

/// Checks the operands of a product of quantized values, and gives input and weight as what they stand for; see
/// `qconv2d_pointwise`.
pub(in crate::ops) fn require_operands(
    x: &TensorMeta,
    (scale, zero_point): (Option<f64>, i64),
    [min, max]: [i64; 2],
    (weight, weight_scale, axis): (&TensorMeta, &TensorMeta, i64),
) -> Result<(TensorMeta, TensorMeta)> {
    require_rounded(x, "", (scale, zero_point), [min, max])?;
    if weight.dtype != DType::I8 {
        return Err(Error::dtype(format!("the weight must be in i8, found {}", weight.dtype))
            .help("the weight is what `quantize_per_channel` gave"));
    }
    Ok((x.with_dtype(DType::F32), dequantize_per_channel(weight, weight_scale, None, axis)?))
}

/// Checks that an operand of such a product can be quantized and dequantized, by attributes whose names begin so.
pub(in crate::ops) fn require_rounded(
    x: &TensorMeta,
    prefix: &str,
    (scale, zero_point): (Option<f64>, i64),
    [min, max]: [i64; 2],
) -> Result<()> {
    require_single(x)?;
    require_range(min, max)?;
    if !is_bytes(min, max) {
        return Err(Error::argument(format!("{min} to {max} are not integers of 8 bits"))
            .help("the range is that of u8 or i8, or a part of one"));
    }
    match scale {
        None => require_zero(min, max),
        Some(scale) if is_scale(scale) && (min..=max).contains(&zero_point) => Ok(()),
        Some(scale) => Err(Error::argument(format!(
            "`{prefix}scale` must be more than 0 and `{prefix}zero_point` from {min} to {max}, found {scale} and {zero_point}"
        ))),
    }
}
