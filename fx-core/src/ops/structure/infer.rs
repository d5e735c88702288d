//! Shapes of rearranged tensors.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::arg::Arg;
use crate::error::{Error, Result};
use crate::ops::shape::{self, Rank, promote};
use crate::value::{Dim, Meta, Shape, TensorMeta};

fn size_arg(dim: Dim) -> Arg<Meta> {
    dim.as_int().map_or_else(|| Arg::Value(Meta::Int(dim)), Arg::Int)
}

/// Checks that there are as many parts as the program takes, if it says how many.
pub(crate) fn counted(have: &Dim, what: &str, count: Option<i64>) -> Result<()> {
    match count {
        Some(count) if !have.may_eq(&Dim::Int(count)) => {
            Err(Error::shape(format!("the number of {what} is {have}, where the program is written for {count}")))
        }
        _ => Ok(()),
    }
}

pub(super) fn size(x: &TensorMeta, dim: Option<i64>, count: Option<i64>) -> Result<Arg<Meta>> {
    counted(&Dim::from(x.ndim()), "dimensions", count)?;
    match dim {
        Some(_) if x.ndim() == 0 => Err(Error::shape("a tensor without dimensions has no sizes")),
        Some(dim) => Ok(size_arg(x.shape[shape::dim(dim, x.ndim())?].clone())),
        None => Ok(Arg::Tuple(x.shape.iter().cloned().map(size_arg).collect())),
    }
}

pub(super) fn numel(x: &TensorMeta) -> Result<Dim> {
    Ok(x.numel())
}

/// The sizes with -1 replaced by what is left.
pub(super) fn resolve(numel: &Dim, sizes: &[Dim]) -> Result<Shape> {
    let unknown: Vec<usize> = (0..sizes.len()).filter(|&i| sizes[i] == Dim::Int(-1)).collect();
    if let Some(dim) = sizes.iter().find(|dim| dim.as_int().is_some_and(|dim| dim < -1)) {
        return Err(Error::shape(format!("{dim} is no size")));
    }
    let fail = || Error::shape(format!("{numel} elements do not fit the shape {sizes:?}"));
    match unknown.as_slice() {
        [] => {
            let product: Dim = sizes.iter().cloned().product();
            if product.may_eq(numel) { Ok(sizes.into()) } else { Err(fail()) }
        }
        [place] => {
            let known: Dim = sizes.iter().enumerate().filter(|(i, _)| i != place).map(|(_, x)| x.clone()).product();
            if known == Dim::Int(0) {
                return Err(fail().help("-1 cannot be found beside a size of 0"));
            }
            let left = numel.floor_div(&known);
            if !(&left * &known).may_eq(numel) {
                return Err(fail());
            }
            let mut shape = Shape::from(sizes);
            shape[*place] = left;
            Ok(shape)
        }
        _ => Err(Error::shape("only one size may be -1")),
    }
}

pub(super) fn reshape(x: &TensorMeta, sizes: SmallVec<[Dim; 6]>) -> Result<TensorMeta> {
    Ok(TensorMeta { shape: resolve(&x.numel(), &sizes)?, dtype: x.dtype })
}

pub(super) fn flatten(x: &TensorMeta, start: i64, end: i64) -> Result<TensorMeta> {
    if x.ndim() == 0 {
        return Ok(x.with_shape([Dim::Int(1)]));
    }
    let (start, end) = (shape::dim(start, x.ndim())?, shape::dim(end, x.ndim())?);
    if start > end {
        return Err(Error::argument("`start_dim` comes after `end_dim`"));
    }
    let mut dims = Shape::from(&x.shape[..start]);
    dims.push(x.shape[start..=end].iter().cloned().product());
    dims.extend(x.shape[end + 1..].iter().cloned());
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(crate) fn unflatten(x: &TensorMeta, dim: i64, sizes: SmallVec<[Dim; 6]>) -> Result<TensorMeta> {
    let dim = shape::dim(dim, x.ndim())?;
    let parts = resolve(x.shape.get(dim).unwrap_or(&Dim::Int(1)), &sizes)?;
    let mut dims = Shape::from(&x.shape[..dim]);
    dims.extend(parts);
    dims.extend(x.shape.iter().skip(dim + 1).cloned());
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(super) fn squeeze(x: &TensorMeta, dims: Option<SmallVec<[i64; 4]>>) -> Result<TensorMeta> {
    let named = match &dims {
        Some(dims) if dims.is_empty() => return Ok(x.clone()),
        dims => shape::dims(dims.as_deref(), x.ndim())?,
    };
    let kept = x.shape.iter().enumerate().filter(|(i, dim)| !(named.contains(i) && dim.as_int() == Some(1)));
    Ok(x.with_shape(kept.map(|(_, dim)| dim.clone())))
}

pub(super) fn unsqueeze(x: &TensorMeta, dim: i64) -> Result<TensorMeta> {
    let mut dims = x.shape.clone();
    dims.insert(shape::dim(dim, x.ndim() + 1)?, Dim::Int(1));
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(super) fn permute(x: &TensorMeta, dims: SmallVec<[i64; 4]>) -> Result<TensorMeta> {
    Ok(x.with_shape(permutation(x.ndim(), &dims)?.into_iter().map(|dim| x.shape[dim].clone())))
}

pub(super) fn permutation(ndim: usize, dims: &[i64]) -> Result<SmallVec<[usize; 6]>> {
    if dims.len() != ndim {
        return Err(Error::argument(format!("{} dimensions are named, the tensor has {ndim}", dims.len())));
    }
    if ndim == 0 { Ok(SmallVec::new()) } else { shape::dims(Some(dims), ndim) }
}

pub(super) fn transpose(x: &TensorMeta, a: i64, b: i64) -> Result<TensorMeta> {
    let (a, b) = (shape::dim(a, x.ndim())?, shape::dim(b, x.ndim())?);
    let mut dims = x.shape.clone();
    if x.ndim() > 0 {
        dims.swap(a, b);
    }
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

/// The order of dimensions that puts `source` at `destination`.
pub(super) fn moved(ndim: usize, source: &[i64], destination: &[i64]) -> Result<SmallVec<[usize; 6]>> {
    if source.len() != destination.len() {
        return Err(Error::argument("`source` and `destination` must name as many dimensions"));
    }
    let (source, destination) = (shape::dims(Some(source), ndim)?, shape::dims(Some(destination), ndim)?);
    let mut rest = (0..ndim).filter(|dim| !source.contains(dim));
    let place = |dim: usize| destination.iter().position(|place| *place == dim);
    Ok((0..ndim).filter_map(|dim| place(dim).map_or_else(|| rest.next(), |i| Some(source[i]))).collect())
}

pub(super) fn movedim(
    x: &TensorMeta,
    source: SmallVec<[i64; 4]>,
    destination: SmallVec<[i64; 4]>,
) -> Result<TensorMeta> {
    let order = moved(x.ndim(), &source, &destination)?;
    Ok(x.with_shape(order.into_iter().map(|dim| x.shape[dim].clone())))
}

pub(super) fn expand(x: &TensorMeta, size: SmallVec<[Dim; 6]>) -> Result<TensorMeta> {
    let Some(lead) = size.len().checked_sub(x.ndim()) else {
        return Err(Error::shape(format!("{x} has more dimensions than the size {size:?}")));
    };
    let dims = size.iter().enumerate().map(|(i, want)| {
        let have = i.checked_sub(lead).map(|i| &x.shape[i]);
        match (have, want.as_int()) {
            (Some(have), Some(-1)) => Ok(have.clone()),
            (None, Some(-1)) => Err(Error::shape("a new dimension cannot have the size -1")),
            (Some(have), _) if have.as_int() != Some(1) && !have.may_eq(want) => {
                Err(Error::shape(format!("a dimension of size {have} cannot be expanded to {want}")))
            }
            _ => Ok(want.clone()),
        }
    });
    Ok(TensorMeta { shape: dims.collect::<Result<_>>()?, dtype: x.dtype })
}

pub(super) fn expand_as(x: &TensorMeta, other: &TensorMeta) -> Result<TensorMeta> {
    expand(x, other.shape.iter().cloned().collect())
}

pub(super) fn repeat(x: &TensorMeta, repeats: SmallVec<[Dim; 6]>) -> Result<TensorMeta> {
    let Some(lead) = repeats.len().checked_sub(x.ndim()) else {
        return Err(Error::shape(format!("{} counts for the {} dimensions of {x}", repeats.len(), x.ndim())));
    };
    if repeats.iter().any(|count| count.as_int().is_some_and(|count| count < 0)) {
        return Err(Error::argument("a tensor cannot be repeated a negative number of times"));
    }
    Ok(x.with_shape(repeats.iter().enumerate().map(|(i, count)| match i.checked_sub(lead) {
        Some(dim) => count * &x.shape[dim],
        None => count.clone(),
    })))
}

pub(super) fn tile(x: &TensorMeta, dims: SmallVec<[Dim; 6]>) -> Result<TensorMeta> {
    let missing = x.ndim().saturating_sub(dims.len());
    repeat(x, std::iter::repeat_n(Dim::Int(1), missing).chain(dims).collect())
}

pub(super) fn repeat_interleave(x: &TensorMeta, repeats: Dim, dim: Option<i64>) -> Result<TensorMeta> {
    if repeats.as_int().is_some_and(|repeats| repeats < 0) {
        return Err(Error::argument("a tensor cannot be repeated a negative number of times"));
    }
    let Some(dim) = dim else { return Ok(x.with_shape([x.numel() * &repeats])) };
    let dim = shape::dim(dim, x.ndim())?;
    let mut dims = if x.ndim() == 0 { Shape::from_elem(Dim::Int(1), 1) } else { x.shape.clone() };
    dims[dim] = &dims[dim] * &repeats;
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(super) fn narrow(x: &TensorMeta, dim: i64, start: Dim, length: Dim) -> Result<TensorMeta> {
    let dim = shape::dim(dim, x.ndim())?;
    let have = x.shape.get(dim).ok_or_else(|| Error::shape("a tensor without dimensions cannot be narrowed"))?;
    let start = match start.as_int() {
        Some(start) if start < 0 => have + start,
        _ => start,
    };
    if let (Some(have), Some(start), Some(length)) = (have.as_int(), start.as_int(), length.as_int()) {
        let stop = start.saturating_add(length);
        if start < 0 || length < 0 || stop > have {
            return Err(Error::shape(format!("{start}..{stop} lies outside a dimension of size {have}")));
        }
    }
    let mut dims = x.shape.clone();
    dims[dim] = length;
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(super) fn select(x: &TensorMeta, dim: i64, index: Dim) -> Result<TensorMeta> {
    if x.ndim() == 0 {
        return Err(Error::shape("nothing can be selected from a tensor without dimensions"));
    }
    let dim = shape::dim(dim, x.ndim())?;
    let mut dims = x.shape.clone();
    let have = dims.remove(dim);
    if let (Some(have), Some(index)) = (have.as_int(), index.as_int())
        && !(-have..have).contains(&index)
    {
        return Err(Error::shape(format!("index {index} lies outside a dimension of size {have}")));
    }
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(super) fn diagonal(x: &TensorMeta, offset: i64, dim1: i64, dim2: i64) -> Result<TensorMeta> {
    shape::require_ndim(x, "the input", 2.., "at least 2")?;
    let (a, b) = (shape::dim(dim1, x.ndim())?, shape::dim(dim2, x.ndim())?);
    if a == b {
        return Err(Error::argument("the two dimensions of a diagonal must differ"));
    }
    let (rows, columns) = (&x.shape[a], &x.shape[b]);
    let len = if offset >= 0 { Dim::min(rows, &(columns - offset)) } else { Dim::min(&(rows + offset), columns) };
    let mut dims: Shape =
        x.shape.iter().enumerate().filter(|(i, _)| *i != a && *i != b).map(|(_, dim)| dim.clone()).collect();
    dims.push(Dim::max(&len, &Dim::Int(0)));
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(super) fn unfold(x: &TensorMeta, dim: i64, size: i64, step: i64) -> Result<TensorMeta> {
    if step <= 0 || size < 0 {
        return Err(Error::argument("`step` must be above 0 and `size` not below it"));
    }
    let dim = shape::dim(dim, x.ndim())?;
    let mut dims = x.shape.clone();
    let have = dims.get(dim).ok_or_else(|| Error::shape("a tensor without dimensions cannot be unfolded"))?;
    if have.as_int().is_some_and(|have| have < size) {
        return Err(Error::shape(format!("a window of {size} is larger than the dimension, of size {have}")));
    }
    dims[dim] = (have - size).floor_div(&Dim::Int(step)) + 1;
    dims.push(Dim::Int(size));
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

fn common_dtype(tensors: &[&TensorMeta]) -> crate::tensor::DType {
    let parts: Vec<_> = tensors.iter().map(|x| (x.dtype, Rank::of(x.ndim()))).collect();
    promote(parts)
}

/// PyTorch lets an empty one-dimensional tensor be joined to anything.
pub(super) fn is_nothing(shape: &[Dim]) -> bool {
    matches!(shape, [Dim::Int(0)])
}

pub(super) fn cat(tensors: Vec<&TensorMeta>, dim: i64) -> Result<TensorMeta> {
    let Some(first) = tensors.iter().find(|x| !is_nothing(&x.shape)).or(tensors.first()) else {
        return Err(Error::argument("there are no tensors to join"));
    };
    if first.ndim() == 0 {
        return Err(Error::shape("tensors without dimensions cannot be joined").help("use `stack`"));
    }
    let dim = shape::dim(dim, first.ndim())?;
    let mut dims = first.shape.clone();
    dims[dim] = Dim::Int(0);
    for x in tensors.iter().filter(|x| !is_nothing(&x.shape)) {
        let fits =
            x.ndim() == first.ndim() && (0..first.ndim()).all(|i| i == dim || x.shape[i].may_eq(&first.shape[i]));
        if !fits {
            return Err(Error::shape(format!("{x} does not fit {first}: sizes must be equal but for dimension {dim}")));
        }
        dims[dim] = &dims[dim] + &x.shape[dim];
    }
    Ok(TensorMeta { shape: dims, dtype: common_dtype(&tensors) })
}

pub(super) fn stack(tensors: Vec<&TensorMeta>, dim: i64) -> Result<TensorMeta> {
    let Some(first) = tensors.first() else { return Err(Error::argument("there are no tensors to stack")) };
    for x in &tensors {
        let fits = x.ndim() == first.ndim() && x.shape.iter().zip(&first.shape).all(|(a, b)| a.may_eq(b));
        if !fits {
            return Err(Error::shape(format!("{x} does not have the shape of {first}")));
        }
    }
    let mut dims = first.shape.clone();
    dims.insert(shape::dim(dim, first.ndim() + 1)?, Dim::from(tensors.len()));
    Ok(TensorMeta { shape: dims, dtype: common_dtype(&tensors) })
}

fn known_size(x: &TensorMeta, dim: usize, what: &str) -> Result<i64> {
    let have = x.shape.get(dim).ok_or_else(|| Error::shape(format!("a tensor without dimensions has no {what}")))?;
    have.as_int().ok_or_else(|| {
        Error::shape(format!("the number of {what} along a dimension of size {have} is not known"))
            .help("give the size of each part")
    })
}

/// The sizes of the parts.
pub(super) fn sections(have: Option<i64>, sizes: &[i64]) -> Result<Vec<i64>> {
    match (sizes, have) {
        ([size], Some(have)) if *size > 0 || have == 0 => {
            let size = (*size).max(1);
            let count = have.saturating_sub(1).div_euclid(size) + 1;
            Ok((0..count.max(1)).map(|i| size.min(have - i * size)).collect())
        }
        ([size], _) if *size <= 0 => Err(Error::argument("parts must have a size above 0")),
        (sizes, Some(have))
            if sizes.iter().fold(0_i64, |sum, size| sum.saturating_add(*size)) != have
                || sizes.iter().any(|size| *size < 0) =>
        {
            Err(Error::shape(format!("the parts {sizes:?} do not add up to {have}")))
        }
        _ => Ok(sizes.to_vec()),
    }
}

pub(super) fn split(
    x: &TensorMeta,
    sizes: SmallVec<[i64; 4]>,
    dim: i64,
    count: Option<i64>,
) -> Result<Vec<TensorMeta>> {
    let dim = shape::dim(dim, x.ndim())?;
    let have = match sizes.len() {
        1 => Some(known_size(x, dim, "parts")?),
        _ => x.shape.get(dim).and_then(Dim::as_int),
    };
    parts(x, dim, &sections(have, &sizes)?, count)
}

fn parts(x: &TensorMeta, dim: usize, sizes: &[i64], count: Option<i64>) -> Result<Vec<TensorMeta>> {
    if x.ndim() == 0 {
        return Err(Error::shape("a tensor without dimensions cannot be split"));
    }
    counted(&Dim::from(sizes.len()), "parts", count)?;
    Ok(sizes
        .iter()
        .map(|&size| {
            let mut part = x.clone();
            part.shape[dim] = Dim::Int(size);
            part
        })
        .collect())
}

pub(super) fn chunk_sizes(have: i64, chunks: i64) -> Result<Vec<i64>> {
    if chunks <= 0 {
        return Err(Error::argument("there must be at least one chunk"));
    }
    /// More parts of nothing than this are a mistake.
    const MANY: i64 = 1 << 16;
    match have {
        0 if chunks > MANY => Err(Error::argument(format!("there cannot be {chunks} chunks of nothing"))),
        0 => Ok(vec![0; chunks as usize]),
        _ => sections(Some(have), &[(have - 1) / chunks + 1]),
    }
}

pub(super) fn chunk(x: &TensorMeta, chunks: i64, dim: i64, count: Option<i64>) -> Result<Vec<TensorMeta>> {
    let dim = shape::dim(dim, x.ndim())?;
    parts(x, dim, &chunk_sizes(known_size(x, dim, "chunks")?, chunks)?, count)
}

pub(super) fn unbind(x: &TensorMeta, dim: i64, count: Option<i64>) -> Result<Vec<TensorMeta>> {
    let dim = shape::dim(dim, x.ndim())?;
    x.shape.get(dim).map_or(Ok(()), |have| counted(have, "slices", count))?;
    let count = count.filter(|_| x.ndim() > 0).map_or_else(|| known_size(x, dim, "slices"), Ok)?;
    let mut slice = x.clone();
    slice.shape.remove(dim);
    Ok(vec![slice; count as usize])
}

pub(super) fn pad(
    x: &TensorMeta,
    pad: SmallVec<[Dim; 6]>,
    mode: Cow<'static, str>,
    _: Option<f64>,
) -> Result<TensorMeta> {
    if !pad.len().is_multiple_of(2) || pad.len() / 2 > x.ndim() {
        return Err(Error::argument(format!("{} amounts of padding do not fit {x}: give pairs", pad.len())));
    }
    if !["constant", "reflect", "replicate", "circular"].contains(&&*mode) {
        return Err(Error::argument(format!("there is no padding mode `{mode}`"))
            .help("the modes are constant, reflect, replicate and circular"));
    }
    let mut dims = x.shape.clone();
    for (i, pair) in pad.chunks_exact(2).enumerate() {
        let dim = x.ndim() - 1 - i;
        let size = &x.shape[dim];
        if mode != "constant" && size.as_int() == Some(0) {
            return Err(Error::shape(format!("there is nothing in {x} for {mode} padding to repeat")));
        }
        let limit = match &*mode {
            "reflect" => Some(size - 1),
            "circular" => Some(size.clone()),
            _ => None,
        };
        let certainly_above = |a: &Dim, b: &Dim| (a - b).lower_bound().is_some_and(|bound| bound > 0);
        if limit.is_some_and(|limit| pair.iter().any(|amount| certainly_above(amount, &limit))) {
            return Err(Error::shape(format!("{mode} padding by {pair:?} is too much for a size of {size:?}")));
        }
        dims[dim] = size + &pair[0] + &pair[1];
        let zero = Dim::Int(0);
        if certainly_above(&zero, &dims[dim]) || pair.iter().any(|amount| certainly_above(&zero, &(size + amount))) {
            return Err(Error::shape(format!("padding by {pair:?} leaves less than nothing of {x}")));
        }
    }
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(super) fn roll(x: &TensorMeta, shifts: SmallVec<[Dim; 6]>, dims: Option<SmallVec<[i64; 4]>>) -> Result<TensorMeta> {
    match dims {
        None if shifts.len() != 1 => Err(Error::argument("without `dims` there is one shift")),
        Some(dims) if dims.len() != shifts.len() => Err(Error::argument("there must be as many shifts as dims")),
        Some(dims) => {
            dims.iter().try_for_each(|dim| shape::dim(*dim, x.ndim()).map(drop))?;
            Ok(x.clone())
        }
        None => Ok(x.clone()),
    }
}

pub(super) fn flip(x: &TensorMeta, dims: SmallVec<[i64; 4]>) -> Result<TensorMeta> {
    shape::dims(Some(&dims), x.ndim())?;
    Ok(x.clone())
}

pub(super) fn matrix(x: &TensorMeta, _: Dim) -> Result<TensorMeta> {
    shape::require_ndim(x, "the input", 2.., "at least 2")?;
    Ok(x.clone())
}
