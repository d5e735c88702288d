//! Rearranging tensors.

use std::borrow::Cow;
use std::ops::Range;

use smallvec::SmallVec;

use super::infer;
use super::places::{Run, padded, runs};
use crate::arg::Arg;
use crate::error::Result;
use crate::ops::shape;
use crate::tensor::{self, Dims, Scalar, Tensor, Word, dispatch_words, view};
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
    // The last dimension comes first.
    let places = pad.chunks_exact(2).enumerate().map(|(i, pair)| {
        let dim = x.ndim() - 1 - i;
        (dim, padded(&mode, x.shape()[dim], [pair[0], pair[1]]))
    });
    Ok(take(x, places.collect(), Scalar::Float(value.unwrap_or(0.0))))
}

/// The elements at these places along some dimensions, or a number where there is no place; along the others all of them.
fn take(x: &Tensor, places: Vec<(usize, Vec<Option<usize>>)>, fill: Scalar) -> Tensor {
    let x = x.contiguous();
    let mut shape = Dims::from_slice(x.shape());
    let mut along: Vec<_> = shape.iter().map(|&len| vec![Run { first: Some(0), len, down: false }]).collect();
    for (dim, places) in places {
        (shape[dim], along[dim]) = (places.len(), runs(&places));
    }
    let takes_all =
        |dim: usize| matches!(along[dim][..], [Run { first: Some(0), len, down: false }] if len == x.shape()[dim]);
    // What lies behind the last dimension that does not is taken as it is.
    let Some(last) = (0..x.ndim()).rev().find(|&dim| !takes_all(dim)) else { return x };
    let (from, to) = (tensor::row_major(x.shape()), tensor::row_major(&shape));
    along.truncate(last + 1);
    let axes = along.into_iter().zip(from.iter().zip(&to)).map(|(runs, (&from, &to))| Axis { runs, from, to });
    let axes: Vec<Axis> = axes.collect();
    let fills = axes.iter().any(|axis| axis.runs.iter().any(|run| run.first.is_none()));
    dispatch_words!(x.dtype(), W => {
        let elements = x.words::<W>().unwrap_or(&[]);
        let fill: Option<W> = fills.then(|| fill.word(x.dtype()));
        Tensor::written_words(&shape, x.dtype(), |out| match fill {
            // All of it is around nothing.
            Some(fill) if elements.is_empty() => out.fill(fill),
            _ if out.is_empty() => {}
            _ => taken(&axes, elements, fill, out),
        })
    })
}

/// The places along a dimension, and how far apart the elements of neighbours are.
struct Axis {
    runs: Vec<Run>,
    from: usize,
    to: usize,
}

impl Axis {
    /// Where the elements go that are taken, where they come from, and how many they are, if they are neighbours.
    fn within(&self) -> Option<[usize; 3]> {
        let mut taken = self.runs.iter().enumerate().filter(|(_, run)| run.first.is_some());
        let (index, run) = taken.next()?;
        let before: usize = self.runs[..index].iter().map(|run| run.len).sum();
        let is_all = taken.next().is_none() && !run.down;
        is_all.then_some([before * self.to, run.first? * self.from, run.len * self.to])
    }

    /// Takes what is at the places: all that lies behind this dimension.
    fn take<W: Word>(&self, x: &[W], fill: Option<W>, out: &mut [W]) {
        let mut start = 0;
        for run in &self.runs {
            let out = &mut out[start..][..run.len * self.to];
            start += out.len();
            match run.first {
                None => fill.iter().for_each(|fill| out.fill(*fill)),
                Some(first) if !run.down => out.copy_from_slice(&x[first * self.from..][..out.len()]),
                Some(first) if self.to == 1 => {
                    let x = &x[first + 1 - run.len..=first];
                    out.iter_mut().zip(x.iter().rev()).for_each(|(out, x)| *out = *x);
                }
                Some(first) => {
                    for (out, place) in out.chunks_exact_mut(self.to).zip((0..=first).rev()) {
                        out.copy_from_slice(&x[place * self.to..][..self.to]);
                    }
                }
            }
        }
    }
}

/// Takes elements at the places along the first dimension, and for each of them those along the others. Without a number to fill in it
/// is there already.
fn taken<W: Word>(axes: &[Axis], x: &[W], mut fill: Option<W>, out: &mut [W]) {
    let [axis, inner @ ..] = axes else { return };
    if inner.is_empty() {
        return axis.take(x, fill, out);
    }
    // Two dimensions at once, for numbers around each row would be a few each time.
    if let Some(fill) = fill.take_if(|_| inner.len() == 1) {
        out.fill(fill);
    }
    let within = inner.first().filter(|_| inner.len() == 1 && fill.is_none()).and_then(Axis::within);
    let mut rows = out.chunks_exact_mut(axis.to);
    for run in &axis.runs {
        for (i, out) in rows.by_ref().take(run.len).enumerate() {
            match (run.place(i), inner) {
                (None, _) => fill.iter().for_each(|fill| out.fill(*fill)),
                (Some(place), _) if let Some([to, from, len]) = within => {
                    out[to..to + len].copy_from_slice(&x[place * axis.from + from..][..len]);
                }
                (Some(place), [last]) => last.take(&x[place * axis.from..][..axis.from], None, out),
                (Some(place), _) => taken(inner, &x[place * axis.from..][..axis.from], fill, out),
            }
        }
    }
}

pub(super) fn roll(x: &Tensor, shifts: SmallVec<[i64; 6]>, dims: Option<SmallVec<[i64; 4]>>) -> Result<Tensor> {
    let Some(dims) = dims else {
        let flat = view::reshape(x, &[x.numel()]);
        return Ok(view::reshape(&roll(&flat, shifts, Some(SmallVec::from_slice(&[0])))?, x.shape()));
    };
    // A dimension may be named several times.
    let mut by: Dims = Dims::from_elem(0, x.ndim());
    for (&dim, &shift) in dims.iter().zip(&shifts) {
        let dim = shape::dim(dim, x.ndim())?;
        if let Some(&len) = x.shape().get(dim).filter(|len| **len > 0) {
            by[dim] = (by[dim] + shift.rem_euclid(len as i64) as usize) % len;
        }
    }
    let places = (0..x.ndim()).filter(|&dim| by[dim] > 0).map(|dim| {
        let (len, shift) = (x.shape()[dim], by[dim]);
        (dim, (0..len).map(|i| Some((i + len - shift) % len)).collect())
    });
    Ok(take(x, places.collect(), Scalar::Int(0)))
}

pub(super) fn flip(x: &Tensor, dims: SmallVec<[i64; 4]>) -> Result<Tensor> {
    let dims = if dims.is_empty() { SmallVec::new() } else { shape::dims(Some(&dims), x.ndim())? };
    let places = dims.into_iter().map(|dim| (dim, (0..x.shape()[dim]).rev().map(Some).collect()));
    Ok(take(x, places.collect(), Scalar::Int(0)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::numel;

    /// Several dimensions at once against the definition by index.
    #[test]
    fn places_along_several_dimensions() {
        let x = Tensor::from_vec([2, 3, 4, 5], (0..120).collect::<Vec<i64>>());
        let all = |size: usize| (0..size).map(Some).collect::<Vec<_>>();
        let choices: [&dyn Fn(usize) -> Vec<Option<usize>>; 6] = [
            &all,
            &|size| (0..size).rev().map(Some).collect(),
            &|size| padded("reflect", size, [1, 0]),
            &|size| padded("constant", size, [2, 1]),
            &|size| padded("constant", size, [-1, 2]),
            &|_| Vec::new(),
        ];
        for case in 0..choices.len().pow(4) {
            let places: Vec<_> = (0..4)
                .map(|dim| choices[case / choices.len().pow(dim) % choices.len()](x.shape()[dim as usize]))
                .collect();
            let shape: Vec<usize> = places.iter().map(Vec::len).collect();
            let strides = tensor::row_major(&shape);
            let from = tensor::row_major(x.shape());
            let element = |i: usize| {
                let at = (0..4).map(|dim| Some(places[dim][i / strides[dim] % shape[dim]]? * from[dim]));
                at.sum::<Option<usize>>().map_or(-7, |place| place as i64)
            };
            let want: Vec<i64> = (0..numel(&shape)).map(element).collect();
            let got = take(&x, places.into_iter().enumerate().collect(), Scalar::Int(-7));
            assert_eq!((got.shape(), got.to_vec::<i64>()), (&shape[..], want), "case {case}");
        }
    }

    #[test]
    fn a_dimension_rolls_as_often_as_it_is_named() {
        let x = Tensor::from_vec([2, 3], (0..6).collect::<Vec<i64>>());
        let by = |shifts: &[i64], dims: &[i64]| {
            roll(&x, SmallVec::from_slice(shifts), Some(SmallVec::from_slice(dims))).unwrap().to_vec::<i64>()
        };
        assert_eq!(by(&[1, -2, 1], &[1, 0, -1]), by(&[-1], &[1]));
        assert_eq!(by(&[4, 5], &[1, 0]), [5, 3, 4, 2, 0, 1]);
        assert_eq!(by(&[-1, 1], &[1, 1]), x.to_vec::<i64>());
    }
}
