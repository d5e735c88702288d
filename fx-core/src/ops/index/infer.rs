//! Shapes and element types of indexing ops.
//!
//! A tensor without dimensions counts as one of a single element, as in PyTorch.

use std::borrow::Cow;

use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::kind::Num;
use crate::ops::shape;
use crate::tensor::{DType, Scalar};
use crate::value::{Dim, Meta, Shape, TensorMeta};

/// Checks the element type of indices: i64, and i32 where PyTorch takes it.
fn require_index(index: &TensorMeta, also_i32: bool) -> Result<()> {
    match index.dtype {
        DType::I64 => Ok(()),
        DType::I32 if also_i32 => Ok(()),
        _ => {
            let known = if also_i32 { "i64 or i32" } else { "i64" };
            Err(Error::dtype(format!("indices must be {known}, found {index}")).help("convert with `to` first"))
        }
    }
}

/// A list of indices: at most one dimension. Gives how many there are.
fn require_list(index: &TensorMeta, also_i32: bool) -> Result<Dim> {
    require_index(index, also_i32)?;
    shape::require_ndim(index, "the index", ..2, "0 or 1")?;
    Ok(index.numel())
}

fn require_same_dtype(x: &TensorMeta, y: &TensorMeta) -> Result<()> {
    if x.dtype == y.dtype {
        return Ok(());
    }
    Err(Error::dtype(format!("both must have one element type, found {x} and {y}")))
}

fn size(x: &TensorMeta, dim: usize) -> Dim {
    x.shape.get(dim).cloned().unwrap_or(Dim::Int(1))
}

fn is_empty(x: &TensorMeta) -> bool {
    x.shape.iter().any(|dim| dim.as_int() == Some(0))
}

/// Whether a dimension is certainly larger than another.
fn above(a: &Dim, b: &Dim) -> bool {
    (a - b).lower_bound().is_some_and(|difference| difference > 0)
}

/// Checks that an index for `gather` and `scatter` lies within a tensor, but for one dimension.
fn require_within(x: &TensorMeta, index: &TensorMeta, but: Option<usize>, what: &str) -> Result<()> {
    if x.ndim().max(1) != index.ndim().max(1) {
        return Err(Error::shape(format!("the index ({index}) and {what} ({x}) must have as many dimensions")));
    }
    match (0..index.ndim()).find(|dim| Some(*dim) != but && above(&index.shape[*dim], &size(x, *dim))) {
        None => Ok(()),
        Some(dim) => Err(Error::shape(format!("the index ({index}) is larger than {what} ({x}) in dimension {dim}"))),
    }
}

pub(super) fn gather(x: &TensorMeta, index: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    let dim = shape::dim(dim, x.ndim())?;
    require_index(index, true)?;
    if !is_empty(index) {
        require_within(x, index, Some(dim), "the input")?;
    }
    Ok(index.with_dtype(x.dtype))
}

pub(super) fn index_select(x: &TensorMeta, index: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    let dim = shape::dim(dim, x.ndim())?;
    let count = require_list(index, true)?;
    let mut y = x.clone();
    match y.shape.get_mut(dim) {
        Some(size) => *size = count,
        None => shape::require_equal(&count, &Dim::Int(1), || format!("{count} indices into a single element"))?,
    }
    Ok(y)
}

/// The shapes of the operands of `take_along_dim` after broadcasting: they differ in `dim` alone.
pub(super) fn along(x: &[Dim], indices: &[Dim], dim: usize) -> Result<(Shape, Shape)> {
    if x.len() != indices.len() {
        return Err(Error::shape(format!("the input {x:?} and the indices {indices:?} must have as many dimensions")));
    }
    let (mut left, mut right) = (Shape::from(x), Shape::from(indices));
    if let (Some(x), Some(index)) = (left.get_mut(dim), right.get_mut(dim)) {
        (*x, *index) = (Dim::Int(1), Dim::Int(1));
    }
    let mut input = shape::broadcast(&left, &right)?;
    let mut result = input.clone();
    if dim < x.len() {
        (input[dim], result[dim]) = (x[dim].clone(), indices[dim].clone());
    }
    Ok((input, result))
}

pub(super) fn take_along_dim(x: &TensorMeta, indices: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    require_index(indices, false)?;
    let (_, shape) = along(&x.shape, &indices.shape, shape::dim(dim, x.ndim())?)?;
    Ok(TensorMeta { shape, dtype: x.dtype })
}

pub(super) fn masked_select(x: &TensorMeta, mask: &TensorMeta) -> Result<Arg<Meta>> {
    if mask.dtype != DType::Bool {
        return Err(Error::dtype(format!("the mask must be bool, found {mask}"))
            .help("make one with a comparison, such as `x > 0.0`"));
    }
    shape::broadcast(&x.shape, &mask.shape)?;
    // How many elements there are depends on the data.
    Ok(Arg::Value(Meta::Unknown))
}

pub(super) fn nonzero(_: &TensorMeta) -> Result<Arg<Meta>> {
    Ok(Arg::Value(Meta::Unknown))
}

fn scatter_at(x: &TensorMeta, index: &TensorMeta, src: Option<&TensorMeta>, dim: i64) -> Result<TensorMeta> {
    let dim = shape::dim(dim, x.ndim())?;
    require_index(index, true)?;
    if let Some(src) = src {
        require_same_dtype(x, src)?;
    }
    if !is_empty(index) {
        require_within(x, index, Some(dim), "the input")?;
        if let Some(src) = src {
            require_within(src, index, None, "the source")?;
        }
    }
    Ok(x.clone())
}

pub(super) fn scatter(x: &TensorMeta, index: &TensorMeta, src: Num<'_, Meta>, dim: i64) -> Result<TensorMeta> {
    match src {
        Num::Tensor(src) => scatter_at(x, index, Some(src), dim),
        _ => scatter_at(x, index, None, dim),
    }
}

pub(super) fn scatter_add(x: &TensorMeta, index: &TensorMeta, src: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    scatter_at(x, index, Some(src), dim)
}

pub(super) fn scatter_reduce(
    x: &TensorMeta,
    index: &TensorMeta,
    src: &TensorMeta,
    dim: i64,
    reduce: Cow<'static, str>,
    _: bool,
) -> Result<TensorMeta> {
    match &*reduce {
        "mean" if x.dtype == DType::Bool => Err(Error::dtype("bool has no mean")),
        "sum" | "prod" | "mean" | "amax" | "amin" => scatter_at(x, index, Some(src), dim),
        other => Err(Error::argument(format!(
            "`reduce` is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", not \"{other}\""
        ))),
    }
}

/// Checks that `source` has the shape of `x`, but for `count` slices along `dim`.
fn require_slices(x: &TensorMeta, source: &TensorMeta, dim: usize, count: &Dim) -> Result<()> {
    let fail = || Error::shape(format!("{count} slices of {x} along dimension {dim} are expected, found {source}"));
    let have = size(source, dim);
    let fits = x.ndim() == source.ndim()
        && have.may_eq(count)
        && (0..x.ndim()).all(|i| i == dim || x.shape[i].may_eq(&source.shape[i]));
    if fits { Ok(()) } else { Err(fail()) }
}

pub(super) fn index_add(
    x: &TensorMeta,
    index: &TensorMeta,
    source: &TensorMeta,
    dim: i64,
    _: Scalar,
) -> Result<TensorMeta> {
    let dim = shape::dim(dim, x.ndim())?;
    let count = require_list(index, true)?;
    require_same_dtype(x, source)?;
    require_slices(x, source, dim, &count)?;
    Ok(x.clone())
}

pub(super) fn index_copy(x: &TensorMeta, index: &TensorMeta, source: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    let dim = shape::dim(dim, x.ndim())?;
    let count = require_list(index, false)?;
    require_same_dtype(x, source)?;
    // One number stands for a vector of one, and the other way round.
    let as_list = |meta: &TensorMeta| if meta.ndim() == 0 { meta.with_shape([Dim::Int(1)]) } else { meta.clone() };
    require_slices(&as_list(x), &as_list(source), dim, &count)?;
    Ok(x.clone())
}

pub(super) fn index_fill(x: &TensorMeta, index: &TensorMeta, value: Num<'_, Meta>, dim: i64) -> Result<TensorMeta> {
    shape::dim(dim, x.ndim())?;
    require_list(index, false)?;
    if let Num::Tensor(value) = value {
        shape::require_ndim(value, "the value", ..1, "no")?;
    }
    Ok(x.clone())
}

fn pair(values: TensorMeta) -> (TensorMeta, TensorMeta) {
    let places = values.with_dtype(DType::I64);
    (values, places)
}

pub(super) fn topk(x: &TensorMeta, k: i64, dim: i64, _: bool, _: bool) -> Result<(TensorMeta, TensorMeta)> {
    shape::numbers_only(x)?;
    let dim = shape::dim(dim, x.ndim())?;
    let have = size(x, dim);
    if k < 0 || above(&Dim::Int(k), &have) {
        return Err(Error::argument(format!("`k` must lie between 0 and {have}, found {k}")));
    }
    let mut values = x.clone();
    if let Some(size) = values.shape.get_mut(dim) {
        *size = Dim::Int(k);
    }
    Ok(pair(values))
}

pub(super) fn sort(x: &TensorMeta, dim: i64, _: bool, _: bool) -> Result<(TensorMeta, TensorMeta)> {
    shape::dim(dim, x.ndim())?;
    Ok(pair(x.clone()))
}

pub(super) fn argsort(x: &TensorMeta, dim: i64, _: bool, _: bool) -> Result<TensorMeta> {
    shape::dim(dim, x.ndim())?;
    Ok(x.with_dtype(DType::I64))
}

pub(super) fn searchsorted(sorted: &TensorMeta, values: Num<'_, Meta>, _: bool) -> Result<TensorMeta> {
    shape::require_ndim(sorted, "the sorted sequence", 1.., "at least 1")?;
    let shape = match values {
        Num::Tensor(values) => values.shape.clone(),
        _ => Shape::new(),
    };
    if sorted.ndim() > 1 {
        let lead = sorted.ndim() - 1;
        let fits = shape.len() == sorted.ndim() && (0..lead).all(|dim| sorted.shape[dim].may_eq(&shape[dim]));
        if !fits {
            return Err(Error::shape(format!(
                "the values {shape:?} and the sorted sequence {sorted} must agree in all but the last dimension"
            )));
        }
    }
    Ok(TensorMeta { shape, dtype: DType::I64 })
}

pub(super) fn one_hot(x: &TensorMeta, num_classes: i64) -> Result<Arg<Meta>> {
    require_index(x, false)?;
    if num_classes < -1 || num_classes == 0 {
        return Err(Error::argument(format!("`num_classes` must be above 0 or -1, found {num_classes}")));
    }
    if num_classes == -1 {
        if is_empty(x) {
            return Err(Error::argument("the number of classes cannot be found from no elements"));
        }
        return Ok(Arg::Value(Meta::Unknown));
    }
    let mut y = x.clone();
    y.shape.push(Dim::Int(num_classes));
    Ok(Arg::Value(Meta::Tensor(y)))
}

/// Checks a padding index: an index of a row, negative ones counted from the end.
fn require_padding(padding_idx: Option<i64>, rows: &Dim) -> Result<()> {
    match (padding_idx, rows.as_int()) {
        (Some(index), Some(rows)) if !(-rows..rows).contains(&index) => {
            Err(Error::argument(format!("`padding_idx` ({index}) lies outside the {rows} rows of the weight")))
        }
        _ => Ok(()),
    }
}

pub(super) fn embedding(input: &TensorMeta, weight: &TensorMeta, padding_idx: Option<i64>) -> Result<TensorMeta> {
    require_index(input, true)?;
    shape::require_ndim(weight, "the weight", 2..=2, "2")?;
    require_padding(padding_idx, &weight.shape[0])?;
    let mut y = input.with_dtype(weight.dtype);
    y.shape.push(weight.shape[1].clone());
    Ok(y)
}

pub(super) fn embedding_bag(
    input: &TensorMeta,
    weight: &TensorMeta,
    offsets: Option<&TensorMeta>,
    per_sample_weights: Option<&TensorMeta>,
    mode: Cow<'static, str>,
    include_last_offset: bool,
    padding_idx: Option<i64>,
) -> Result<TensorMeta> {
    require_index(input, true)?;
    shape::require_float(weight)?;
    shape::require_ndim(weight, "the weight", 2..=2, "2")?;
    require_padding(padding_idx, &weight.shape[0])?;
    if !matches!(&*mode, "sum" | "mean" | "max") {
        return Err(Error::argument(format!("`mode` is \"sum\", \"mean\" or \"max\", not \"{mode}\"")));
    }
    if let Some(factors) = per_sample_weights {
        if mode != "sum" {
            return Err(Error::argument(format!("weights of samples need the mode \"sum\", not \"{mode}\"")));
        }
        require_same_dtype(weight, factors)?;
        let equal = factors.ndim() == input.ndim() && factors.shape.iter().zip(&input.shape).all(|(a, b)| a.may_eq(b));
        if !equal {
            return Err(Error::shape(format!("the weights of samples ({factors}) must have the shape of {input}")));
        }
    }
    let bags = match (input.ndim(), offsets) {
        (2, None) => input.shape[0].clone(),
        (2, Some(_)) => return Err(Error::argument("offsets are for an input of 1 dimension: rows are bags already")),
        (1, Some(offsets)) => {
            require_index(offsets, true)?;
            shape::require_ndim(offsets, "the offsets", 1..=1, "1")?;
            if include_last_offset && offsets.shape[0] == Dim::Int(0) {
                return Err(Error::argument("with `include_last_offset` there must be an offset"));
            }
            &offsets.shape[0] - i64::from(include_last_offset)
        }
        (1, None) => return Err(Error::argument("an input of 1 dimension needs offsets")),
        _ => return Err(Error::shape(format!("the input must have 1 or 2 dimensions, found {input}"))),
    };
    Ok(weight.with_shape([bags, weight.shape[1].clone()]))
}
