//! Shapes and element types of convolutions.

use crate::error::{Error, Result};
use crate::ops::kind::Padding;
use crate::ops::shape::{require_equal, require_float, require_ndim};
use crate::value::{Dim, Shape, TensorMeta};

/// Checks what both kinds have in common; gives the dimension of the input that holds the channels.
fn operands(
    x: &TensorMeta,
    weight: &TensorMeta,
    bias: Option<&TensorMeta>,
    groups: i64,
    steps: [&[usize]; 2],
) -> Result<usize> {
    let spatial = steps[0].len();
    require_float(x)?;
    let (one, batch) = (spatial + 1, spatial + 2);
    require_ndim(x, "the input", one..=batch, &format!("{batch} or, without a batch, {one}"))?;
    require_ndim(weight, "the weight", batch..=batch, &batch.to_string())?;
    for other in [Some(weight), bias].into_iter().flatten() {
        if other.dtype != x.dtype {
            return Err(Error::dtype(format!("the operands must have one element type, found {x} and {other}")));
        }
    }
    if groups < 1 {
        return Err(Error::argument(format!("`groups` must be at least 1, found {groups}")));
    }
    if steps.iter().any(|step| step.contains(&0)) {
        return Err(Error::argument("`stride` and `dilation` must be at least 1"));
    }
    if weight.shape.iter().any(|dim| dim.as_int() == Some(0)) {
        return Err(Error::shape(format!("the weight {weight} has no elements")));
    }
    Ok(x.ndim() - one)
}

fn check_bias(bias: Option<&TensorMeta>, outputs: &Dim) -> Result<()> {
    match bias {
        Some(bias) if bias.ndim() != 1 || !bias.shape[0].may_eq(outputs) => {
            Err(Error::shape(format!("the bias must have one element for each of {outputs} channels, found {bias}")))
        }
        _ => Ok(()),
    }
}

fn require_groups(channels: &Dim, groups: i64, what: &str) -> Result<()> {
    if channels.as_int().is_some_and(|channels| channels % groups != 0) {
        return Err(Error::shape(format!("{channels} {what} channels cannot be divided into {groups} groups")));
    }
    Ok(())
}

pub(crate) fn conv<const N: usize>(
    x: &TensorMeta,
    weight: &TensorMeta,
    bias: Option<&TensorMeta>,
    stride: [usize; N],
    padding: Padding<N>,
    dilation: [usize; N],
    groups: i64,
) -> Result<TensorMeta> {
    let margins = match padding {
        Padding::Explicit(margins) => Some(margins),
        Padding::Valid => Some([0; N]),
        Padding::Same => None,
    };
    windows(x, weight, bias, groups, [&stride, &dilation], margins.as_ref().map(|margins| &margins[..]))
}

/// The result of a convolution with such steps; without margins it has as many elements as the input.
fn windows(
    x: &TensorMeta,
    weight: &TensorMeta,
    bias: Option<&TensorMeta>,
    groups: i64,
    [stride, dilation]: [&[usize]; 2],
    margins: Option<&[usize]>,
) -> Result<TensorMeta> {
    let channels = operands(x, weight, bias, groups, [stride, dilation])?;
    let (have, want) = (&x.shape[channels], &weight.shape[1] * groups);
    require_equal(have, &want, || {
        format!("the input has {have} channels, the weight {weight} with groups = {groups} takes {want}")
    })?;
    require_groups(&weight.shape[0], groups, "output")?;
    check_bias(bias, &weight.shape[0])?;
    if margins.is_none() && stride.iter().any(|&stride| stride != 1) {
        return Err(Error::argument("padding \"same\" needs a stride of 1"));
    }
    let mut shape = Shape::from(&x.shape[..channels]);
    shape.push(weight.shape[0].clone());
    for i in 0..stride.len() {
        let (size, kernel) = (&x.shape[channels + 1 + i], &weight.shape[2 + i]);
        let Some(margins) = margins else {
            shape.push(size.clone());
            continue;
        };
        let (padded, span) = (size + 2 * margins[i] as i64, (kernel - 1) * dilation[i] as i64 + 1);
        let room = &padded - &span;
        if room.as_int().is_some_and(|room| room < 0) {
            return Err(Error::shape(format!("the kernel spans {span}, more than the padded input, {padded}"))
                .help("pad the input or take a smaller kernel or dilation"));
        }
        shape.push(room.floor_div(&Dim::from(stride[i])) + 1);
    }
    Ok(TensorMeta { shape, dtype: x.dtype })
}

#[allow(clippy::too_many_arguments, reason = "the row has that many arguments")]
pub(crate) fn conv_transpose<const N: usize>(
    x: &TensorMeta,
    weight: &TensorMeta,
    bias: Option<&TensorMeta>,
    stride: [usize; N],
    padding: [usize; N],
    output_padding: [usize; N],
    groups: i64,
    dilation: [usize; N],
) -> Result<TensorMeta> {
    spread(x, weight, bias, groups, [&stride, &dilation], [&padding, &output_padding])
}

/// The result of a transposed convolution with such steps and margins.
fn spread(
    x: &TensorMeta,
    weight: &TensorMeta,
    bias: Option<&TensorMeta>,
    groups: i64,
    [stride, dilation]: [&[usize]; 2],
    [padding, output_padding]: [&[usize]; 2],
) -> Result<TensorMeta> {
    let channels = operands(x, weight, bias, groups, [stride, dilation])?;
    let (have, want) = (&x.shape[channels], &weight.shape[0]);
    require_equal(have, want, || format!("the input has {have} channels, the weight {weight} takes {want}"))?;
    require_groups(want, groups, "input")?;
    let outputs = &weight.shape[1] * groups;
    check_bias(bias, &outputs)?;
    let mut shape = Shape::from(&x.shape[..channels]);
    shape.push(outputs);
    for i in 0..stride.len() {
        let extra = output_padding[i];
        if extra >= stride[i].max(dilation[i]) {
            return Err(Error::argument(format!(
                "`output_padding` must be smaller than the stride or the dilation, found {extra}"
            )));
        }
        let span = (&weight.shape[2 + i] - 1) * dilation[i] as i64;
        let size =
            (&x.shape[channels + 1 + i] - 1) * stride[i] as i64 - 2 * padding[i] as i64 + span + extra as i64 + 1;
        if size.as_int().is_some_and(|size| size < 0) {
            return Err(Error::shape(format!("nothing is left of dimension {i}: its size would be {size}"))
                .help("take less padding"));
        }
        shape.push(size);
    }
    Ok(TensorMeta { shape, dtype: x.dtype })
}
