//! Shapes and element types of normalisations.

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::ops::shape::{require_float, require_ndim};
use crate::value::{Dim, TensorMeta};

type Opt<'a> = Option<&'a TensorMeta>;

/// Checks that an operand, if given, holds one float for each of so many channels.
fn per_channel(operands: &[(Opt<'_>, &str)], channels: &Dim) -> Result<()> {
    for (operand, name) in operands {
        let Some(operand) = operand else { continue };
        require_float(operand)?;
        if operand.ndim() != 1 || !operand.shape[0].may_eq(channels) {
            return Err(Error::shape(format!(
                "`{name}` must have one element for each of {channels} channels, found {operand}"
            )));
        }
    }
    Ok(())
}

fn running(mean: Opt<'_>, var: Opt<'_>, flag: &str) -> Result<()> {
    if mean.is_none() || var.is_none() {
        return Err(Error::argument(format!("`running_mean` and `running_var` are needed unless `{flag}` is set")));
    }
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn batch_norm(
    x: &TensorMeta,
    mean: Opt<'_>,
    var: Opt<'_>,
    weight: Opt<'_>,
    bias: Opt<'_>,
    training: bool,
    _: f64,
    _: f64,
) -> Result<TensorMeta> {
    require_float(x)?;
    require_ndim(x, "the input", 2.., "at least 2")?;
    let operands = [(mean, "running_mean"), (var, "running_var"), (weight, "weight"), (bias, "bias")];
    per_channel(&operands, &x.shape[1])?;
    if !training {
        running(mean, var, "training")?;
    } else if x.numel().known_eq(&x.shape[1]) == Some(true) {
        return Err(Error::shape(format!("training needs more than one value a channel, found {x}")));
    }
    Ok(x.clone())
}

fn normalized(x: &TensorMeta, operands: &[(Opt<'_>, &str)], shape: &[i64]) -> Result<TensorMeta> {
    require_float(x)?;
    let fits = |x: &TensorMeta, exact: bool| {
        let lead = x.ndim().checked_sub(shape.len()).filter(|lead| !exact || *lead == 0)?;
        x.shape[lead..].iter().zip(shape).all(|(dim, &want)| dim.may_eq(&Dim::Int(want))).then_some(())
    };
    if shape.is_empty() || fits(x, false).is_none() {
        return Err(Error::shape(format!("the last dimensions of {x} are not {shape:?}, the shape to normalise over")));
    }
    for (operand, name) in operands {
        let Some(operand) = operand else { continue };
        require_float(operand)?;
        if fits(operand, true).is_none() {
            return Err(Error::shape(format!("`{name}` must have the shape {shape:?}, found {operand}")));
        }
    }
    Ok(x.clone())
}

pub(super) fn layer_norm(
    x: &TensorMeta,
    weight: Opt<'_>,
    bias: Opt<'_>,
    shape: SmallVec<[i64; 4]>,
    _: f64,
) -> Result<TensorMeta> {
    normalized(x, &[(weight, "weight"), (bias, "bias")], &shape)
}

pub(super) fn rms_norm(
    x: &TensorMeta,
    weight: Opt<'_>,
    shape: SmallVec<[i64; 4]>,
    _: Option<f64>,
) -> Result<TensorMeta> {
    normalized(x, &[(weight, "weight")], &shape)
}

pub(super) fn group_norm(x: &TensorMeta, weight: Opt<'_>, bias: Opt<'_>, groups: i64, _: f64) -> Result<TensorMeta> {
    require_float(x)?;
    require_ndim(x, "the input", 2.., "at least 2")?;
    let channels = &x.shape[1];
    if groups < 1 || channels.as_int().is_some_and(|channels| channels % groups != 0) {
        return Err(Error::shape(format!("{channels} channels cannot be divided into {groups} groups")));
    }
    per_channel(&[(weight, "weight"), (bias, "bias")], channels)?;
    Ok(x.clone())
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(super) fn instance_norm(
    x: &TensorMeta,
    mean: Opt<'_>,
    var: Opt<'_>,
    weight: Opt<'_>,
    bias: Opt<'_>,
    use_input_stats: bool,
    _: f64,
    _: f64,
) -> Result<TensorMeta> {
    require_float(x)?;
    require_ndim(x, "the input", 2.., "at least 2")?;
    let operands = [(mean, "running_mean"), (var, "running_var"), (weight, "weight"), (bias, "bias")];
    per_channel(&operands, &x.shape[1])?;
    if !use_input_stats {
        running(mean, var, "use_input_stats")?;
    } else {
        let area: Dim = x.shape[2..].iter().cloned().product();
        if area.as_int() == Some(1) {
            return Err(Error::shape(format!("needs more than one value a channel, found {x}")));
        }
    }
    Ok(x.clone())
}

pub(super) fn local_response_norm(x: &TensorMeta, size: i64, _: f64, _: f64, _: f64) -> Result<TensorMeta> {
    require_float(x)?;
    require_ndim(x, "the input", 3.., "at least 3")?;
    if size < 1 {
        return Err(Error::argument(format!("`size` must be at least 1, found {size}")));
    }
    Ok(x.clone())
}
