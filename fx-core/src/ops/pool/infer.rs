//! Shapes and element types of pooling.

use crate::error::{Error, Result};
use crate::ops::shape::{require_float, require_ndim};
use crate::tensor::DType;
use crate::value::{Dim, Shape, TensorMeta};

/// How windows go over `N` dimensions.
pub(super) struct Windows<const N: usize> {
    pub(super) kernel: [usize; N],
    pub(super) stride: [usize; N],
    pub(super) padding: [usize; N],
    pub(super) dilation: [usize; N],
    pub(super) ceil_mode: bool,
}

impl<const N: usize> Windows<N> {
    pub(super) fn new(
        kernel: [usize; N],
        stride: Option<[usize; N]>,
        padding: [usize; N],
        dilation: [usize; N],
        ceil_mode: bool,
    ) -> Self {
        Self { kernel, stride: stride.unwrap_or(kernel), padding, dilation, ceil_mode }
    }

    /// The shape of the result.
    pub(super) fn shape(&self, x: &TensorMeta) -> Result<TensorMeta> {
        require_ndim(x, "the input", N + 1..=N + 2, &format!("{} or, without a batch, {}", N + 2, N + 1))?;
        let lead = x.ndim() - N;
        let mut shape = Shape::from(&x.shape[..lead]);
        for i in 0..N {
            let along = [self.kernel[i], self.stride[i], self.padding[i], self.dilation[i]].map(|x| x as i64);
            shape.push(count(along, self.ceil_mode, &x.shape[lead + i])?);
        }
        Ok(TensorMeta { shape, dtype: x.dtype })
    }
}

/// The number of windows in a dimension.
fn count([kernel, stride, padding, dilation]: [i64; 4], ceil_mode: bool, size: &Dim) -> Result<Dim> {
    if kernel < 1 || stride < 1 || dilation < 1 {
        return Err(Error::argument("`kernel_size`, `stride` and `dilation` must be at least 1"));
    }
    let span = (kernel - 1) * dilation + 1;
    if padding > span / 2 {
        return Err(Error::argument(format!("a padding of {padding} is more than half of the window, {span}")));
    }
    let room = size + 2 * padding - span;
    let windows = if ceil_mode {
        // Windows that begin after the input do not count.
        let all = (&room + (stride - 1)).floor_div(&Dim::Int(stride)) + 1;
        Dim::min(&all, &((size + padding - 1).floor_div(&Dim::Int(stride)) + 1))
    } else {
        room.floor_div(&Dim::Int(stride)) + 1
    };
    if windows.as_int().is_some_and(|windows| windows < 1) {
        return Err(Error::shape(format!(
            "a window of {span} is larger than the padded input, {}",
            size + 2 * padding
        )));
    }
    Ok(windows)
}

pub(super) fn max<const N: usize>(
    x: &TensorMeta,
    kernel: [usize; N],
    stride: Option<[usize; N]>,
    padding: [usize; N],
    dilation: [usize; N],
    ceil_mode: bool,
) -> Result<TensorMeta> {
    if x.dtype == DType::Bool {
        return Err(Error::dtype("is not defined for bool").help("convert with `to` first"));
    }
    Windows::new(kernel, stride, padding, dilation, ceil_mode).shape(x)
}

pub(super) fn max_with_indices(
    x: &TensorMeta,
    kernel: [usize; 2],
    stride: Option<[usize; 2]>,
    padding: [usize; 2],
    dilation: [usize; 2],
    ceil_mode: bool,
) -> Result<(TensorMeta, TensorMeta)> {
    let values = max(x, kernel, stride, padding, dilation, ceil_mode)?;
    let indices = values.with_dtype(DType::I64);
    Ok((values, indices))
}

pub(super) fn avg<const N: usize>(
    x: &TensorMeta,
    kernel: [usize; N],
    stride: Option<[usize; N]>,
    padding: [usize; N],
    ceil_mode: bool,
    _: bool,
    divisor: Option<i64>,
) -> Result<TensorMeta> {
    require_float(x)?;
    if divisor == Some(0) {
        return Err(Error::argument("`divisor_override` must not be 0"));
    }
    Windows::new(kernel, stride, padding, [1; N], ceil_mode).shape(x)
}

pub(super) fn avg1d(
    x: &TensorMeta,
    kernel: [usize; 1],
    stride: Option<[usize; 1]>,
    padding: [usize; 1],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Result<TensorMeta> {
    avg(x, kernel, stride, padding, ceil_mode, count_include_pad, None)
}

fn adaptive<const N: usize>(x: &TensorMeta, size: [usize; N]) -> Result<TensorMeta> {
    require_ndim(x, "the input", N + 1..=N + 2, &format!("{} or, without a batch, {}", N + 2, N + 1))?;
    let lead = x.ndim() - N;
    if let Some(dim) = x.shape[lead..].iter().position(|dim| dim.as_int() == Some(0)) {
        return Err(Error::shape(format!("dimension {} of {x} has no elements to pool", lead + dim)));
    }
    let mut shape = Shape::from(&x.shape[..lead]);
    shape.extend(size.map(Dim::from));
    Ok(TensorMeta { shape, dtype: x.dtype })
}

pub(super) fn adaptive_avg<const N: usize>(x: &TensorMeta, size: [usize; N]) -> Result<TensorMeta> {
    require_float(x)?;
    adaptive(x, size)
}

pub(super) fn adaptive_max<const N: usize>(x: &TensorMeta, size: [usize; N]) -> Result<TensorMeta> {
    if x.dtype == DType::Bool {
        return Err(Error::dtype("is not defined for bool").help("convert with `to` first"));
    }
    adaptive(x, size)
}

pub(super) fn lp(
    x: &TensorMeta,
    norm_type: f64,
    kernel: [usize; 2],
    stride: Option<[usize; 2]>,
    ceil_mode: bool,
) -> Result<TensorMeta> {
    if norm_type == 0.0 {
        return Err(Error::argument("`norm_type` must not be 0"));
    }
    avg(x, kernel, stride, [0; 2], ceil_mode, true, None)
}
