//! Rearranging tensors.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::infer;
use super::places::{Run, padded, runs};
use crate::arg::Arg;
use crate::error::Result;
use crate::ops::shape;
use crate::tensor::{self, Dims, Scalar, Tensor, dispatch_words, view};
use crate::value::Dim;

pub(super) fn size(x: &Tensor, dim: Option<i64>, _: Option<i64>) -> Result<Arg<Tensor>> {
    Ok(match dim {
        Some(dim) => Arg::Int(x.shape()[shape::dim(dim, x.ndim())?] as i64),
        None => Arg::Tuple(x.shape().iter().map(|&size| Arg::Int(size as i64)).collect()),
    })
}

pub(super) fn numel(x: &Tensor) -> Result<i64> {
    Ok(x.numel() as i64)
}

/// The sizes with -1 replaced by what is left.
fn resolve(numel: usize, sizes: &[i64]) -> Result<Dims> {
    let sizes: SmallVec<[Dim; 6]> = sizes.iter().map(|&size| Dim::Int(size)).collect();
    let shape = infer::resolve(&Dim::from(numel), &sizes)?;
    Ok(shape.iter().map(|dim| dim.as_int().unwrap_or(0) as usize).collect())
}

pub(super) fn reshape(x: &Tensor, sizes: SmallVec<[i64; 6]>) -> Result<Tensor> {
    Ok(view::reshape(x, &resolve(x.numel(), &sizes)?))
}

pub(super) fn flatten(x: &Tensor, start: i64, end: i64) -> Result<Tensor> {
    if x.ndim() == 0 {
        return Ok(view::reshape(x, &[1]));
    }
    let (start, end) = (shape::dim(start, x.ndim())?, shape::dim(end, x.ndim())?);
    let mut dims = Dims::from_slice(&x.shape()[..start]);
    dims.push(tensor::numel(&x.shape()[start..=end]));
    dims.extend_from_slice(&x.shape()[end + 1..]);
    Ok(view::reshape(x, &dims))
}

pub(crate) fn unflatten(x: &Tensor, dim: i64, sizes: SmallVec<[i64; 6]>) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let mut dims = Dims::from_slice(&x.shape()[..dim]);
    dims.extend(resolve(x.shape().get(dim).copied().unwrap_or(1), &sizes)?);
    dims.extend(x.shape().iter().skip(dim + 1).copied());
    Ok(view::reshape(x, &dims))
}

pub(super) fn squeeze(x: &Tensor, dims: Option<SmallVec<[i64; 4]>>) -> Result<Tensor> {
    let named = match &dims {
        Some(dims) if dims.is_empty() => return Ok(x.clone()),
        dims => shape::dims(dims.as_deref(), x.ndim())?,
    };
    let gone = (0..x.ndim()).rev().filter(|dim| named.contains(dim) && x.shape()[*dim] == 1);
    Ok(gone.fold(x.clone(), |x, dim| view::squeeze(&x, dim)))
}

pub(super) fn unsqueeze(x: &Tensor, dim: i64) -> Result<Tensor> {
    Ok(view::unsqueeze(x, shape::dim(dim, x.ndim() + 1)?))
}

pub(super) fn permute(x: &Tensor, dims: SmallVec<[i64; 4]>) -> Result<Tensor> {
    Ok(view::permute(x, &infer::permutation(x.ndim(), &dims)?))
}

pub(super) fn transpose(x: &Tensor, a: i64, b: i64) -> Result<Tensor> {
    if x.ndim() == 0 {
        return Ok(x.clone());
    }
    Ok(view::transpose(x, shape::dim(a, x.ndim())?, shape::dim(b, x.ndim())?))
}

pub(super) fn movedim(x: &Tensor, source: SmallVec<[i64; 4]>, destination: SmallVec<[i64; 4]>) -> Result<Tensor> {
    Ok(view::permute(x, &infer::moved(x.ndim(), &source, &destination)?))
}

pub(super) fn expand(x: &Tensor, size: SmallVec<[i64; 6]>) -> Result<Tensor> {
    let lead = size.len() - x.ndim();
    let dims: Dims = size
        .iter()
        .enumerate()
        .map(|(i, &size)| match i.checked_sub(lead) {
            Some(dim) if size == -1 => x.shape()[dim],
            _ => size as usize,
        })
        .collect();
    Ok(view::expand(x, &dims))
}

pub(super) fn expand_as(x: &Tensor, other: &Tensor) -> Result<Tensor> {
    Ok(view::expand(x, other.shape()))
}

pub(super) fn repeat(x: &Tensor, repeats: SmallVec<[i64; 6]>) -> Result<Tensor> {
    // Each dimension of size n repeated r times is [r, n], of which r is expanded.
    let lead = repeats.len() - x.ndim();
    let (mut split, mut wide, mut joined) = (Dims::new(), Dims::new(), Dims::new());
    for (i, &count) in repeats.iter().enumerate() {
        let (count, size) = (count as usize, i.checked_sub(lead).map_or(1, |dim| x.shape()[dim]));
        split.extend([1, size]);
        wide.extend([count, size]);
        joined.push(count * size);
    }
    if joined.contains(&0) {
        return Ok(Tensor::filled(&joined, 0_i64, x.dtype()));
    }
    Ok(view::reshape(&view::expand(&view::reshape(x, &split), &wide), &joined))
}

pub(super) fn tile(x: &Tensor, dims: SmallVec<[i64; 6]>) -> Result<Tensor> {
    let missing = x.ndim().saturating_sub(dims.len());
    repeat(x, std::iter::repeat_n(1, missing).chain(dims).collect())
}

pub(super) fn repeat_interleave(x: &Tensor, repeats: i64, dim: Option<i64>) -> Result<Tensor> {
    let Some(dim) = dim else { return repeat_interleave(&view::reshape(x, &[x.numel()]), repeats, Some(0)) };
    let x = &if x.ndim() == 0 { view::reshape(x, &[1]) } else { x.clone() };
    let (dim, repeats) = (shape::dim(dim, x.ndim())?, repeats as usize);
    let mut wide = Dims::from_slice(x.shape());
    wide.insert(dim + 1, repeats);
    let mut joined = Dims::from_slice(x.shape());
    joined[dim] *= repeats;
    Ok(view::reshape(&view::expand(&view::unsqueeze(x, dim + 1), &wide), &joined))
}

pub(super) fn narrow(x: &Tensor, dim: i64, start: i64, length: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let start = if start < 0 { start + x.shape()[dim] as i64 } else { start };
    Ok(view::narrow(x, dim, start as usize, length as usize))
}

pub(super) fn select(x: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    Ok(view::select(x, dim, index.rem_euclid(x.shape()[dim] as i64) as usize))
}

pub(super) fn diagonal(x: &Tensor, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
    Ok(view::diagonal(x, offset, shape::dim(dim1, x.ndim())?, shape::dim(dim2, x.ndim())?))
}

pub(super) fn unfold(x: &Tensor, dim: i64, size: i64, step: i64) -> Result<Tensor> {
    Ok(view::unfold(x, shape::dim(dim, x.ndim())?, size as usize, step as usize))
}

pub(super) fn cat(tensors: Vec<&Tensor>, dim: i64) -> Result<Tensor> {
    let metas: Vec<_> = tensors.iter().map(|x| crate::value::TensorMeta::from(*x)).collect();
    let meta = infer::cat(metas.iter().collect(), dim)?;
    let tensors: Vec<Tensor> =
        tensors.iter().filter(|x| x.shape() != [0]).map(|x| x.to_dtype(meta.dtype).contiguous()).collect();
    let shape = meta.concrete_shape().unwrap_or_default();
    let dim = shape::dim(dim, shape.len())?;
    let outer = tensor::numel(&shape[..dim]);
    Ok(dispatch_words!(meta.dtype, W => Tensor::written_words::<W>(&shape, meta.dtype, |mut rest| {
        for i in 0..outer {
            for x in &tensors {
                let (part, len) = (x.words::<W>().unwrap_or(&[]), tensor::numel(&x.shape()[dim..]));
                let out = rest.split_off_mut(..len).unwrap_or_default();
                out.copy_from_slice(&part[i * len..(i + 1) * len]);
            }
        }
    })))
}

pub(super) fn stack(tensors: Vec<&Tensor>, dim: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, tensors[0].ndim() + 1)?;
    let slices: Vec<Tensor> = tensors.iter().map(|x| view::unsqueeze(x, dim)).collect();
    cat(slices.iter().collect(), dim as i64)
}

fn parts(x: &Tensor, dim: usize, sizes: &[i64]) -> Vec<Tensor> {
    let mut start = 0;
    sizes
        .iter()
        .map(|&size| {
            let part = view::narrow(x, dim, start, size as usize);
            start += size as usize;
            part
        })
        .collect()
}

pub(super) fn split(x: &Tensor, sizes: SmallVec<[i64; 4]>, dim: i64, _: Option<i64>) -> Result<Vec<Tensor>> {
    let dim = shape::dim(dim, x.ndim())?;
    Ok(parts(x, dim, &infer::sections(Some(x.shape()[dim] as i64), &sizes)?))
}

pub(super) fn chunk(x: &Tensor, chunks: i64, dim: i64, _: Option<i64>) -> Result<Vec<Tensor>> {
    let dim = shape::dim(dim, x.ndim())?;
    Ok(parts(x, dim, &infer::chunk_sizes(x.shape()[dim] as i64, chunks)?))
}

pub(super) fn unbind(x: &Tensor, dim: i64, _: Option<i64>) -> Result<Vec<Tensor>> {
    let dim = shape::dim(dim, x.ndim())?;
    Ok((0..x.shape()[dim]).map(|index| view::select(x, dim, index)).collect())
}

pub(super) fn pad(x: &Tensor, pad: SmallVec<[i64; 6]>, mode: Cow<'static, str>, value: Option<f64>) -> Result<Tensor> {
    let mut y = x.clone();
    for (i, pair) in pad.chunks_exact(2).enumerate() {
        let dim = x.ndim() - 1 - i;
        let places = padded(&mode, y.shape()[dim], [pair[0], pair[1]]);
        y = take(&y, dim, &places, Scalar::Float(value.unwrap_or(0.0)));
    }
    Ok(y.contiguous())
}

/// The elements at these places along a dimension, or a number where there is no place.
fn take(x: &Tensor, dim: usize, places: &[Option<usize>], fill: Scalar) -> Tensor {
    let x = x.contiguous();
    let inner = tensor::numel(&x.shape()[dim + 1..]);
    let len = x.shape()[dim];
    let mut shape = Dims::from_slice(x.shape());
    shape[dim] = places.len();
    let runs = runs(places);
    dispatch_words!(x.dtype(), W => {
        let elements = x.words::<W>().unwrap_or(&[]);
        let fill: W = fill.word(x.dtype());
        Tensor::written_words(&shape, x.dtype(), |out| {
            for (block, out) in out.chunks_exact_mut((places.len() * inner).max(1)).enumerate() {
                let mut rest = out;
                for &Run { first, len: count, down } in &runs {
                    let to = rest.split_off_mut(..count * inner).unwrap_or_default();
                    let from = |place: usize, count: usize| &elements[(block * len + place) * inner..][..count * inner];
                    match first {
                        None => to.fill(fill),
                        Some(first) if !down => to.copy_from_slice(from(first, count)),
                        Some(first) if inner == 1 => {
                            let from = from(first + 1 - count, count);
                            to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
                        }
                        Some(first) => {
                            for (i, to) in to.chunks_exact_mut(inner).enumerate() {
                                to.copy_from_slice(from(first - i, 1));
                            }
                        }
                    }
                }
            }
        })
    })
}

pub(super) fn roll(x: &Tensor, shifts: SmallVec<[i64; 6]>, dims: Option<SmallVec<[i64; 4]>>) -> Result<Tensor> {
    let Some(dims) = dims else {
        let flat = view::reshape(x, &[x.numel()]);
        return Ok(view::reshape(&roll(&flat, shifts, Some(SmallVec::from_slice(&[0])))?, x.shape()));
    };
    dims.iter().zip(&shifts).try_fold(x.clone(), |x, (&dim, &shift)| {
        let dim = shape::dim(dim, x.ndim())?;
        let len = x.shape().get(dim).map_or(0, |&len| len as i64);
        if len == 0 {
            return Ok(x);
        }
        let shift = shift.rem_euclid(len);
        let places: Vec<_> = (0..len).map(|i| Some((i - shift).rem_euclid(len) as usize)).collect();
        Ok(take(&x, dim, &places, Scalar::Int(0)))
    })
}

pub(super) fn flip(x: &Tensor, dims: SmallVec<[i64; 4]>) -> Result<Tensor> {
    let dims = if dims.is_empty() { SmallVec::new() } else { shape::dims(Some(&dims), x.ndim())? };
    Ok(dims.into_iter().fold(x.clone(), |x, dim| {
        let places: Vec<_> = (0..x.shape()[dim]).rev().map(Some).collect();
        take(&x, dim, &places, Scalar::Int(0))
    }))
}

/// The elements of each row that lie in some columns, and zeros.
fn triangle(x: &Tensor, kept: &dyn Fn(i64) -> Range<i64>) -> Tensor {
    let (rows, columns) = (x.shape()[x.ndim() - 2], x.shape()[x.ndim() - 1]);
    let x = x.contiguous();
    dispatch_words!(x.dtype(), W => {
        let elements = x.words::<W>().unwrap_or(&[]);
        Tensor::written_words(x.shape(), x.dtype(), |out| {
            let lines = out.chunks_exact_mut(columns.max(1)).zip(elements.chunks_exact(columns.max(1)));
            for (index, (out, line)) in lines.enumerate() {
                let Range { start, end } = kept((index % rows) as i64);
                let within = |column: i64| column.clamp(0, columns as i64) as usize;
                let (start, end) = (within(start), within(end));
                out[..start].fill(W::default());
                out[end.max(start)..].fill(W::default());
                if start < end {
                    out[start..end].copy_from_slice(&line[start..end]);
                }
            }
        })
    })
}

pub(super) fn tril(x: &Tensor, diagonal: i64) -> Result<Tensor> {
    Ok(triangle(x, &|row| 0..row.saturating_add(diagonal).saturating_add(1)))
}

pub(super) fn triu(x: &Tensor, diagonal: i64) -> Result<Tensor> {
    Ok(triangle(x, &|row| row.saturating_add(diagonal)..i64::MAX))
}
