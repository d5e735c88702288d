//! Shapes and element types of activations.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::ops::shape;
use crate::value::{Dim, TensorMeta};

pub(super) fn float1(x: &TensorMeta, _: f64) -> Result<TensorMeta> {
    shape::floats_only(x)
}

pub(super) fn float2(x: &TensorMeta, _: f64, _: f64) -> Result<TensorMeta> {
    shape::floats_only(x)
}

pub(super) fn celu(x: &TensorMeta, alpha: f64) -> Result<TensorMeta> {
    if alpha == 0.0 {
        return Err(Error::argument("`alpha` must not be 0"));
    }
    shape::floats_only(x)
}

pub(super) fn softshrink(x: &TensorMeta, lambd: f64) -> Result<TensorMeta> {
    if lambd.is_nan() || lambd < 0.0 {
        return Err(Error::argument(format!("`lambd` must not be below 0, found {lambd}")));
    }
    shape::floats_only(x)
}

pub(super) fn hardtanh(x: &TensorMeta, min: f64, max: f64) -> Result<TensorMeta> {
    if min > max {
        return Err(Error::argument(format!("`min_val` ({min}) is above `max_val` ({max})")));
    }
    shape::numbers_only(x)
}

pub(super) fn threshold(x: &TensorMeta, _: f64, _: f64) -> Result<TensorMeta> {
    shape::numbers_only(x)
}

pub(super) fn prelu(x: &TensorMeta, weight: &TensorMeta) -> Result<TensorMeta> {
    shape::require_float(x)?;
    if weight.dtype != x.dtype {
        return Err(Error::dtype(format!("the weight must have the input's element type, found {weight} for {x}")));
    }
    shape::require_ndim(weight, "the weight", ..2, "0 or 1")?;
    let count = weight.numel();
    if count.as_int() != Some(1) {
        let channels = if x.ndim() >= 2 { x.shape[1].clone() } else { Dim::Int(1) };
        shape::require_equal(&count, &channels, || format!("{count} weights do not fit {channels} channels of {x}"))?;
    }
    Ok(x.clone())
}

pub(super) fn gelu(x: &TensorMeta, approximate: Cow<'static, str>) -> Result<TensorMeta> {
    if !matches!(&*approximate, "none" | "tanh") {
        return Err(Error::argument(format!("`approximate` is \"none\" or \"tanh\", not \"{approximate}\"")));
    }
    shape::floats_only(x)
}

pub(super) fn glu(x: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    shape::require_float(x)?;
    shape::require_ndim(x, "the input", 1.., "at least 1")?;
    let dim = shape::dim(dim, x.ndim())?;
    if x.shape[dim].as_int().is_some_and(|size| size % 2 != 0) {
        return Err(Error::shape(format!("the dimension must have an even size, found {}", x.shape[dim])));
    }
    let mut y = x.clone();
    y.shape[dim] = y.shape[dim].floor_div(&Dim::Int(2));
    Ok(y)
}

pub(super) fn along(x: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    shape::require_float(x)?;
    shape::dim(dim, x.ndim())?;
    Ok(x.clone())
}

pub(super) fn normalize(x: &TensorMeta, _: f64, dim: SmallVec<[i64; 4]>, _: f64) -> Result<TensorMeta> {
    shape::require_float(x)?;
    shape::dims(Some(&dim), x.ndim())?;
    Ok(x.clone())
}

pub(super) fn dropout(x: &TensorMeta, p: f64, training: bool) -> Result<TensorMeta> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::argument(format!("the probability must lie between 0 and 1, found {p}")));
    }
    if training { shape::floats_only(x) } else { Ok(x.clone()) }
}
