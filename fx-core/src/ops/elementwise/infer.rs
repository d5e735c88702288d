//! Shapes and element types of elementwise ops.

use std::borrow::Cow;

use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::kind::Num;
use crate::ops::shape::{self, Rank, Side, elementwise, float_of, promote};
use crate::tensor::{DType, Scalar};
use crate::value::{Dim, Meta, TensorMeta};

type Number<'a> = Num<'a, Meta>;

/// The operands as symbolic sizes, if none is a tensor or a float.
fn sizes(a: &Number<'_>, b: &Number<'_>) -> Option<(Dim, Dim)> {
    let size = |x: &Number<'_>| match x {
        Num::Size(dim) => Some(dim.clone()),
        Num::Scalar(Scalar::Int(x)) => Some(Dim::Int(*x)),
        _ => None,
    };
    Some((size(a)?, size(b)?))
}

fn size(dim: Dim) -> Arg<Meta> {
    dim.as_int().map_or_else(|| Arg::Value(Meta::Int(dim)), Arg::Int)
}

fn tensor(meta: TensorMeta) -> Arg<Meta> {
    Arg::Value(Meta::Tensor(meta))
}

fn arithmetic(a: &Number<'_>, b: &Number<'_>, of_sizes: impl FnOnce(Dim, Dim) -> Dim) -> Result<Arg<Meta>> {
    match sizes(a, b) {
        Some((a, b)) => Ok(size(of_sizes(a, b))),
        None => elementwise(&a.into(), &b.into()).map(tensor),
    }
}

pub(super) fn add(a: Number<'_>, b: Number<'_>, alpha: Scalar) -> Result<Arg<Meta>> {
    no_float_alpha(&a, &b, alpha)?;
    arithmetic(&a, &b, |a, b| a + b * alpha.to_i64())
}

pub(super) fn sub(a: Number<'_>, b: Number<'_>, alpha: Scalar) -> Result<Arg<Meta>> {
    no_float_alpha(&a, &b, alpha)?;
    if let (Side::Tensor(x), Side::Tensor(y)) = (Side::from(&a), Side::from(&b))
        && x.dtype == DType::Bool
        && y.dtype == DType::Bool
    {
        return Err(Error::dtype("is not defined for two bool tensors").help("use `logical_xor`"));
    }
    arithmetic(&a, &b, |a, b| a - b * alpha.to_i64())
}

fn no_float_alpha(a: &Number<'_>, b: &Number<'_>, alpha: Scalar) -> Result<()> {
    if matches!(alpha, Scalar::Float(_)) && !elementwise(&a.into(), &b.into())?.dtype.is_float() {
        return Err(Error::argument("for integers `alpha` must be an integer"));
    }
    Ok(())
}

pub(super) fn mul(a: Number<'_>, b: Number<'_>) -> Result<Arg<Meta>> {
    arithmetic(&a, &b, |a, b| a * b)
}

pub(super) fn div(a: Number<'_>, b: Number<'_>, rounding_mode: Option<Cow<'static, str>>) -> Result<TensorMeta> {
    let meta = elementwise(&(&a).into(), &(&b).into())?;
    match rounding_mode.as_deref() {
        None => Ok(meta.with_dtype(float_of(meta.dtype))),
        Some("floor" | "trunc") => not_bool(meta),
        Some(other) => {
            Err(Error::argument(format!("`rounding_mode` is \"floor\", \"trunc\" or None, not \"{other}\"")))
        }
    }
}

pub(super) fn floor_divide(a: Number<'_>, b: Number<'_>) -> Result<Arg<Meta>> {
    not_bool(elementwise(&(&a).into(), &(&b).into())?)?;
    not_by_zero(&a, &b)?;
    arithmetic(&a, &b, |a, b| a.floor_div(&b))
}

pub(super) fn remainder(a: Number<'_>, b: Number<'_>) -> Result<Arg<Meta>> {
    not_bool(elementwise(&(&a).into(), &(&b).into())?)?;
    not_by_zero(&a, &b)?;
    arithmetic(&a, &b, |a, b| a.modulo(&b))
}

pub(super) fn numeric(a: Number<'_>, b: Number<'_>) -> Result<TensorMeta> {
    elementwise(&(&a).into(), &(&b).into())
}

pub(super) fn pow(a: Number<'_>, b: Number<'_>) -> Result<TensorMeta> {
    let meta = elementwise(&(&a).into(), &(&b).into())?;
    match b {
        Num::Scalar(Scalar::Int(..0)) if !meta.dtype.is_float() => {
            Err(Error::argument("integers have no negative integer powers").help("convert the base to a float"))
        }
        _ => Ok(meta),
    }
}

pub(super) fn float(a: Number<'_>, b: Number<'_>) -> Result<TensorMeta> {
    let meta = elementwise(&(&a).into(), &(&b).into())?;
    Ok(meta.with_dtype(float_of(meta.dtype)))
}

pub(super) fn floats(a: &TensorMeta, b: &TensorMeta) -> Result<TensorMeta> {
    shape::floats_only(&elementwise(&a.into(), &b.into())?)
}

pub(super) fn compare(a: Number<'_>, b: Number<'_>) -> Result<TensorMeta> {
    shape::mask(&elementwise(&(&a).into(), &(&b).into())?)
}

pub(super) fn isclose(a: Number<'_>, b: Number<'_>, _: f64, _: f64, _: bool) -> Result<TensorMeta> {
    if let (Num::Tensor(x), Num::Tensor(y)) = (&a, &b)
        && x.dtype != y.dtype
    {
        return Err(Error::dtype(format!("the operands must have one element type, found {x} and {y}")));
    }
    compare(a, b)
}

pub(super) fn bits(a: Number<'_>, b: Number<'_>) -> Result<TensorMeta> {
    bits_of(&elementwise(&(&a).into(), &(&b).into())?)
}

pub(super) fn bits_of(x: &TensorMeta) -> Result<TensorMeta> {
    if x.dtype.is_float() {
        return Err(Error::dtype(format!("is defined for integers and booleans, not for {}", x.dtype)));
    }
    Ok(x.clone())
}

/// A size has no quotient by 0; elements of tensors have one.
fn not_by_zero(a: &Number<'_>, b: &Number<'_>) -> Result<()> {
    match sizes(a, b) {
        Some((_, Dim::Int(0))) => Err(Error::argument("a size cannot be divided by 0")),
        _ => Ok(()),
    }
}

fn not_bool(meta: TensorMeta) -> Result<TensorMeta> {
    shape::numbers_only(&meta)
}

pub(super) fn neg(x: Number<'_>) -> Result<Arg<Meta>> {
    match x {
        Num::Tensor(x) => shape::numbers_only(x).map(tensor),
        Num::Size(dim) => Ok(size(-&dim)),
        Num::Scalar(Scalar::Int(x)) => Ok(Arg::Int(x.saturating_neg())),
        Num::Scalar(x) => Ok(Arg::Float(-x.to_f64())),
    }
}

pub(super) fn square(x: &TensorMeta) -> Result<TensorMeta> {
    Ok(x.with_dtype(if x.dtype == DType::Bool { DType::I64 } else { x.dtype }))
}

pub(super) fn clamp(x: &TensorMeta, min: Option<Scalar>, max: Option<Scalar>) -> Result<TensorMeta> {
    if min.is_none() && max.is_none() {
        return Err(Error::argument("at least one of `min` and `max` must be given"));
    }
    let dtype = [min, max].into_iter().flatten().fold(x.dtype, |dtype, bound| bound.promote(dtype));
    Ok(x.with_dtype(dtype))
}

pub(super) fn lerp(x: &TensorMeta, end: &TensorMeta, weight: Number<'_>) -> Result<TensorMeta> {
    shape::require_float(x)?;
    if x.dtype != end.dtype {
        return Err(Error::dtype(format!("the operands must have one element type, found {x} and {end}")));
    }
    let both = elementwise(&x.into(), &end.into())?;
    Ok(TensorMeta { shape: shape::broadcast(&both.shape, Side::from(&weight).shape())?, dtype: x.dtype })
}

pub(super) fn addcmul(x: &TensorMeta, a: &TensorMeta, b: &TensorMeta, _: Scalar) -> Result<TensorMeta> {
    let shape = shape::broadcast_all([&x.shape[..], &a.shape, &b.shape])?;
    Ok(TensorMeta { shape, dtype: promote([x, a, b].map(|x| (x.dtype, Rank::of(x.ndim())))) })
}

pub(super) fn where_(condition: &TensorMeta, a: Number<'_>, b: Number<'_>) -> Result<TensorMeta> {
    if condition.dtype != DType::Bool {
        return Err(Error::dtype(format!("the condition must be bool, found {condition}"))
            .help("make one with a comparison, such as `x > 0.0`"));
    }
    let both = elementwise(&(&a).into(), &(&b).into())?;
    Ok(TensorMeta { shape: shape::broadcast(&condition.shape, &both.shape)?, dtype: both.dtype })
}

pub(super) fn masked_fill(x: &TensorMeta, mask: &TensorMeta, value: Number<'_>) -> Result<TensorMeta> {
    if mask.dtype != DType::Bool {
        return Err(Error::dtype(format!("the mask must be bool, found {mask}"))
            .help("make one with a comparison, such as `x > 0.0`"));
    }
    if !Side::from(&value).shape().is_empty() {
        return Err(Error::shape("the value must be a number or a tensor without dimensions"));
    }
    Ok(TensorMeta { shape: shape::broadcast(&x.shape, &mask.shape)?, dtype: x.dtype })
}

pub(super) fn nan_to_num(x: &TensorMeta, _: Option<f64>, _: Option<f64>, _: Option<f64>) -> Result<TensorMeta> {
    shape::same(x)
}

pub(super) fn to(x: &TensorMeta, dtype: DType) -> Result<TensorMeta> {
    Ok(x.with_dtype(dtype))
}
