//! Shapes and element types of reductions.

use smallvec::SmallVec;

use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::shape;
use crate::tensor::{DType, Scalar};
use crate::value::{Dim, Meta, Shape, TensorMeta};

type Dims<'a> = Option<SmallVec<[i64; 4]>>;

/// Without these dimensions, or with them at size 1.
fn reduced(x: &TensorMeta, dims: Option<&[i64]>, keepdim: bool, dtype: DType) -> Result<TensorMeta> {
    let dims = shape::dims(dims, x.ndim())?;
    let mut left = Shape::new();
    for (i, dim) in x.shape.iter().enumerate() {
        if !dims.contains(&i) {
            left.push(dim.clone());
        } else if keepdim {
            left.push(Dim::Int(1));
        }
    }
    Ok(TensorMeta { shape: left, dtype })
}

/// A reduction of no elements that has no result.
fn require_elements(x: &TensorMeta, dims: Option<&[i64]>) -> Result<()> {
    for dim in shape::dims(dims, x.ndim())? {
        if x.shape[dim].as_int() == Some(0) {
            return Err(Error::shape(format!("dimension {dim} of {x} has no elements to choose from")));
        }
    }
    Ok(())
}

fn summed(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::I64 }
}

pub(super) fn sum(x: &TensorMeta, dim: Dims<'_>, keepdim: bool, dtype: Option<DType>) -> Result<TensorMeta> {
    reduced(x, dim.as_deref(), keepdim, dtype.unwrap_or(summed(x.dtype)))
}

pub(super) fn mean(x: &TensorMeta, dim: Dims<'_>, keepdim: bool, dtype: Option<DType>) -> Result<TensorMeta> {
    let dtype = dtype.unwrap_or(x.dtype);
    shape::require_float(&x.with_dtype(dtype))?;
    reduced(x, dim.as_deref(), keepdim, dtype)
}

pub(super) fn prod(x: &TensorMeta, dim: Option<i64>, keepdim: bool, dtype: Option<DType>) -> Result<TensorMeta> {
    reduced(x, dim.as_ref().map(std::slice::from_ref), keepdim, dtype.unwrap_or(summed(x.dtype)))
}

pub(super) fn var(x: &TensorMeta, dim: Dims<'_>, _: Scalar, keepdim: bool) -> Result<TensorMeta> {
    shape::require_float(x)?;
    reduced(x, dim.as_deref(), keepdim, x.dtype)
}

pub(super) fn extreme(x: &TensorMeta, dim: Option<i64>, keepdim: bool) -> Result<Arg<Meta>> {
    let tensor = |meta: TensorMeta| Arg::Value(Meta::Tensor(meta));
    require_elements(x, dim.as_ref().map(std::slice::from_ref))?;
    match dim {
        None if keepdim => Err(Error::argument("`keepdim` needs `dim`")),
        None => reduced(x, None, false, x.dtype).map(tensor),
        Some(dim) => {
            let values = reduced(x, Some(&[dim]), keepdim, x.dtype)?;
            let indices = values.with_dtype(DType::I64);
            Ok(Arg::Tuple(vec![tensor(values), tensor(indices)]))
        }
    }
}

pub(super) fn amax(x: &TensorMeta, dim: Dims<'_>, keepdim: bool) -> Result<TensorMeta> {
    require_elements(x, dim.as_deref())?;
    reduced(x, dim.as_deref(), keepdim, x.dtype)
}

pub(super) fn arg(x: &TensorMeta, dim: Option<i64>, keepdim: bool) -> Result<TensorMeta> {
    require_elements(x, dim.as_ref().map(std::slice::from_ref))?;
    reduced(x, dim.as_ref().map(std::slice::from_ref), keepdim, DType::I64)
}

pub(super) fn test(x: &TensorMeta, dim: Dims<'_>, keepdim: bool) -> Result<TensorMeta> {
    // PyTorch keeps bytes as bytes here, for its old masks.
    reduced(x, dim.as_deref(), keepdim, if x.dtype == DType::U8 { DType::U8 } else { DType::Bool })
}

pub(super) fn count_nonzero(x: &TensorMeta, dim: Dims<'_>) -> Result<TensorMeta> {
    reduced(x, dim.as_deref(), false, DType::I64)
}

pub(super) fn norm(x: &TensorMeta, _: f64, dim: Dims<'_>, keepdim: bool) -> Result<TensorMeta> {
    shape::require_float(x)?;
    reduced(x, dim.as_deref(), keepdim, x.dtype)
}

pub(super) fn logsumexp(x: &TensorMeta, dim: SmallVec<[i64; 4]>, keepdim: bool) -> Result<TensorMeta> {
    reduced(x, Some(&dim), keepdim, shape::float_of(x.dtype))
}

pub(super) fn scan(x: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    shape::dim(dim, x.ndim())?;
    Ok(x.with_dtype(summed(x.dtype)))
}
