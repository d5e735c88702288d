//! Shape rules that many ops share.

use smallvec::SmallVec;

use super::kind::Num;
use crate::error::{Error, Result};
use crate::tensor::{DType, Scalar};
use crate::value::{Dim, Meta, Shape, TensorMeta};

/// The dimension that an index names: negative ones count from the end.
pub(super) fn dim(index: i64, ndim: usize) -> Result<usize> {
    // A tensor without dimensions is taken as one with a single dimension, as PyTorch does.
    let count = ndim.max(1) as i64;
    if (-count..count).contains(&index) {
        return Ok(index.rem_euclid(count) as usize);
    }
    Err(Error::shape(format!("there is no dimension {index} in a tensor of {ndim} dimensions")).help(format!(
        "dimensions go from {} to {}",
        -count,
        count - 1
    )))
}

/// The dimensions that indices name; none named is all.
pub(super) fn dims(indices: Option<&[i64]>, ndim: usize) -> Result<SmallVec<[usize; 6]>> {
    let Some(indices) = indices.filter(|indices| !indices.is_empty()) else { return Ok((0..ndim).collect()) };
    let mut result: SmallVec<[usize; 6]> = SmallVec::new();
    for &index in indices {
        let dim = dim(index, ndim)?;
        if result.contains(&dim) {
            return Err(Error::argument(format!("the dimension {index} is named twice")));
        }
        result.push(dim);
    }
    result.retain(|dim| *dim < ndim);
    Ok(result)
}

/// Checks that two dimensions are equal, unless that cannot be told.
pub(super) fn require_equal(a: &Dim, b: &Dim, message: impl FnOnce() -> String) -> Result<()> {
    if a.may_eq(b) { Ok(()) } else { Err(Error::shape(message())) }
}

/// The shape that two shapes broadcast to.
pub(super) fn broadcast(a: &[Dim], b: &[Dim]) -> Result<Shape> {
    let ndim = a.len().max(b.len());
    let at = |shape: &[Dim], i: usize| (i + shape.len()).checked_sub(ndim).map_or(Dim::Int(1), |i| shape[i].clone());
    (0..ndim)
        .map(|i| {
            let (x, y) = (at(a, i), at(b, i));
            match (x.as_int(), y.as_int()) {
                (Some(1), _) => Ok(y),
                (_, Some(1)) => Ok(x),
                // A symbolic dimension beside one above 1, or beside another symbolic one, must be that one.
                _ if !x.may_eq(&y) => Err(mismatch(a, b, i)),
                (None, Some(_)) => Ok(y),
                _ => Ok(x),
            }
        })
        .collect()
}

fn mismatch(a: &[Dim], b: &[Dim], dim: usize) -> Error {
    Error::shape(format!("the shapes {a:?} and {b:?} do not broadcast: dimension {dim} differs and neither is 1"))
}

/// The shape that all operands broadcast to.
pub(super) fn broadcast_all<'a>(shapes: impl IntoIterator<Item = &'a [Dim]>) -> Result<Shape> {
    shapes.into_iter().try_fold(Shape::new(), |shape, next| broadcast(&shape, next))
}

/// The same shape and element type.
pub(super) fn same(x: &TensorMeta) -> Result<TensorMeta> {
    Ok(x.clone())
}

/// The same shape, in floats: integers become the default float type.
pub(super) fn float(x: &TensorMeta) -> Result<TensorMeta> {
    Ok(x.with_dtype(float_of(x.dtype)))
}

/// The same shape, in booleans.
pub(super) fn mask(x: &TensorMeta) -> Result<TensorMeta> {
    Ok(x.with_dtype(DType::Bool))
}

/// The same shape, which must be in floats.
pub(super) fn floats_only(x: &TensorMeta) -> Result<TensorMeta> {
    require_float(x)?;
    Ok(x.clone())
}

/// The same shape, not in booleans.
pub(super) fn numbers_only(x: &TensorMeta) -> Result<TensorMeta> {
    if x.dtype == DType::Bool {
        return Err(Error::dtype("is not defined for bool").help("use `logical_not`, or convert with `to`"));
    }
    Ok(x.clone())
}

/// Checks that the elements are floats.
pub(super) fn require_float(x: &TensorMeta) -> Result<()> {
    if x.dtype.is_float() {
        return Ok(());
    }
    Err(Error::dtype(format!("is not defined for {}", x.dtype)).help("convert with `to` first"))
}

/// Checks that the elements are integers.
pub(super) fn require_int(x: &TensorMeta, what: &str) -> Result<()> {
    if x.dtype.is_int() {
        return Ok(());
    }
    Err(Error::dtype(format!("{what} must hold integers, found {}", x.dtype)))
}

/// Checks the number of dimensions.
pub(super) fn require_ndim(
    x: &TensorMeta,
    what: &str,
    ndim: impl std::ops::RangeBounds<usize>,
    words: &str,
) -> Result<()> {
    if ndim.contains(&x.ndim()) {
        return Ok(());
    }
    Err(Error::shape(format!("{what} must have {words} dimensions, found {x}")))
}

/// The float type in which values of a type are computed.
pub(super) fn float_of(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::F32 }
}

/// An operand as it takes part in promotion and broadcasting.
pub(super) enum Side<'a> {
    Tensor(&'a TensorMeta),
    Number(Scalar),
}

impl<'a> From<&'a TensorMeta> for Side<'a> {
    fn from(x: &'a TensorMeta) -> Self {
        Side::Tensor(x)
    }
}

impl<'a> From<&Num<'a, Meta>> for Side<'a> {
    fn from(x: &Num<'a, Meta>) -> Self {
        match x {
            Num::Tensor(x) => Side::Tensor(x),
            Num::Scalar(x) => Side::Number(*x),
            Num::Size(_) => Side::Number(Scalar::Int(0)),
        }
    }
}

impl Side<'_> {
    pub(super) fn shape(&self) -> &[Dim] {
        match self {
            Side::Tensor(x) => &x.shape,
            Side::Number(_) => &[],
        }
    }
}

/// PyTorch's promotion: tensors with dimensions come before those without, which come before numbers; a later one
/// matters only if it is of a higher category (bool, int, float).
pub(super) fn promote<'a>(operands: impl IntoIterator<Item = (DType, Rank)> + Clone + 'a) -> DType {
    let category = |dtype: DType| if dtype.is_float() { 2 } else { u8::from(dtype != DType::Bool) };
    let mut result: Option<DType> = None;
    for rank in [Rank::Dims, Rank::Zero, Rank::Number] {
        let level = operands.clone().into_iter().filter(|(_, have)| *have == rank).map(|(dtype, _)| dtype);
        if let Some(dtype) = level.reduce(DType::promote) {
            result = Some(match result {
                Some(result) if category(dtype) <= category(result) => result,
                _ => dtype,
            });
        }
    }
    result.unwrap_or(DType::F32)
}

/// How much an operand counts in promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    Dims,
    Zero,
    Number,
}

impl Rank {
    pub(super) fn of(ndim: usize) -> Self {
        if ndim == 0 { Rank::Zero } else { Rank::Dims }
    }
}

/// Shape and element type of an elementwise op on two operands.
pub(super) fn elementwise(a: &Side<'_>, b: &Side<'_>) -> Result<TensorMeta> {
    let part = |side: &Side<'_>| match side {
        Side::Tensor(x) => (x.dtype, Rank::of(x.ndim())),
        Side::Number(x) => (x.dtype(), Rank::Number),
    };
    Ok(TensorMeta { shape: broadcast(a.shape(), b.shape())?, dtype: promote([part(a), part(b)]) })
}
