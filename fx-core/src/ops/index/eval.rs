//! Choosing elements.

use std::slice::{from_mut, from_ref};

use fx_kernels::table;

use crate::error::{Error, Result};
use crate::ops::shape;
use crate::tensor::{DType, Dims, Tensor, dispatch_words, numel, view};
use crate::value::{Dim, Shape};

use super::infer;

/// The error of an index outside its dimension.
pub(super) fn outside(index: i64, size: usize) -> Error {
    Error::shape(format!("index {index} lies outside a dimension of size {size}"))
}

/// An index within a dimension.
pub(super) fn place(index: i64, size: usize) -> Result<usize> {
    usize::try_from(index).ok().filter(|index| *index < size).ok_or_else(|| outside(index, size))
}

/// The elements before and after a dimension, as counts; a tensor without dimensions has one of size 1.
pub(super) fn around(shape: &[usize], dim: usize) -> (usize, usize, usize) {
    let after = shape.get(dim + 1..).unwrap_or(&[]);
    (numel(&shape[..dim.min(shape.len())]), shape.get(dim).copied().unwrap_or(1), numel(after))
}

/// Indices as places within a dimension of this size.
pub(crate) fn places(index: &Tensor, size: usize) -> Result<Vec<usize>> {
    let index = index.to_dtype(DType::I64).contiguous();
    index.as_slice::<i64>().unwrap_or_default().iter().map(|&index| place(index, size)).collect()
}

/// The places that an index names along a dimension of a contiguous tensor: each is of a run of neighbours that have one index in common,
/// as after `expand`.
pub(super) struct Targets {
    /// The indices of the runs, all of them within the dimension.
    indices: Tensor,
    dim: usize,
    /// How far two elements of the tensor are apart along each dimension.
    strides: Dims,
    /// The elements of a run.
    pub(super) run: usize,
}

impl Targets {
    pub(super) fn new(index: &Tensor, shape: &[usize], dim: usize) -> Result<Self> {
        let after = (dim + 1).min(index.ndim())..index.ndim();
        let is_one = |i: usize| index.shape()[i] == shape[i] && (index.strides()[i] == 0 || shape[i] == 1);
        let (indices, run) = match after.clone().all(is_one) {
            false => (index.clone(), 1),
            true => {
                let first = after.clone().fold(index.clone(), |index, i| view::narrow(&index, i, 0, 1));
                (first, numel(&shape[after]))
            }
        };
        let (indices, (_, size, _)) = (indices.to_dtype(DType::I64).contiguous(), around(shape, dim));
        let all = indices.as_slice::<i64>().unwrap_or_default();
        // Without an end in between, so that many are seen at once: the sign of an index, or of how far it is from the last place.
        let last = size as i64 - 1;
        if all.iter().fold(0, |signs, index| signs | index | last.wrapping_sub(*index)) < 0 {
            all.iter().try_for_each(|&index| place(index, size).map(drop))?;
        }
        Ok(Self { indices, dim, strides: crate::tensor::row_major(shape), run })
    }

    /// Calls `f` with the indices of each row and with the number of its first run.
    fn rows(&self, f: &mut dyn FnMut(usize, Row<'_>)) {
        let indices = self.indices.as_slice::<i64>().unwrap_or_default();
        let (&len, outer) = self.indices.shape().split_last().unwrap_or((&1, &[]));
        let mut position = Dims::from_elem(0, outer.len());
        // What the dimensions contribute: the last one in equal steps, the others counted up, and the index.
        let along = |i: usize| if i == self.dim { 0 } else { self.strides.get(i).copied().unwrap_or(0) };
        let (step, stride) = (along(outer.len()), self.strides.get(self.dim).copied().unwrap_or(0));
        let mut base = 0;
        for (row, indices) in indices.chunks_exact(len.max(1)).enumerate() {
            f(row * len, Row { base, step, stride, indices });
            for i in (0..outer.len()).rev() {
                position[i] += 1;
                base += along(i);
                if position[i] < outer[i] {
                    break;
                }
                base -= along(i) * position[i];
                position[i] = 0;
            }
        }
    }

    /// Reads what is at the places.
    fn read<T: Copy>(&self, elements: &[T], out: &mut [T]) {
        let run = self.run;
        self.rows(&mut |first, row| {
            let out = &mut out[first * run..][..row.indices.len() * run];
            match (run, row.step, row.stride) {
                (1, 0, 1) => {
                    let elements = &elements[row.base..];
                    out.iter_mut().zip(row.indices).for_each(|(out, index)| *out = elements[*index as usize]);
                }
                (1, ..) => out.iter_mut().zip(row.starts()).for_each(|(out, start)| *out = elements[start]),
                _ => {
                    for (out, start) in out.chunks_exact_mut(run).zip(row.starts()) {
                        out.copy_from_slice(&elements[start..start + run]);
                    }
                }
            }
        });
    }

    /// Calls `f` with the number of each run, its elements, and those that go there.
    pub(super) fn for_each<T>(&self, out: &mut [T], src: &[T], mut f: impl FnMut(usize, &mut [T], &[T])) {
        let run = self.run;
        self.rows(&mut |first, row| {
            let src = &src[first * run..][..row.indices.len() * run];
            if (run, row.step, row.stride) == (1, 0, 1) {
                let out = &mut out[row.base..];
                for (index, src) in row.indices.iter().zip(src) {
                    let place = *index as usize;
                    f(row.base + place, from_mut(&mut out[place]), from_ref(src));
                }
                return;
            }
            if run == 1 {
                let single = row.starts().zip(src);
                return single.for_each(|(start, src)| f(start, from_mut(&mut out[start]), from_ref(src)));
            }
            for (start, src) in row.starts().zip(src.chunks_exact(run)) {
                f(start / run, &mut out[start..start + run], src);
            }
        });
    }
}

/// The indices along the last dimension, and how they become places.
struct Row<'a> {
    base: usize,
    step: usize,
    stride: usize,
    indices: &'a [i64],
}

impl<'a> Row<'a> {
    /// Where the runs begin.
    fn starts(&self) -> impl Iterator<Item = usize> + 'a {
        let Self { base, step, stride, indices } = *self;
        (0..).zip(indices).map(move |(i, &index)| base + i * step + index as usize * stride)
    }
}

pub(super) fn embedding(input: &Tensor, weight: &Tensor, _: Option<i64>) -> Result<Tensor> {
    let (rows, width) = (weight.shape()[0], weight.shape()[1]);
    let places = places(input, rows)?;
    let weight = weight.contiguous();
    let mut shape = Dims::from_slice(input.shape());
    shape.push(width);
    Ok(dispatch_words!(weight.dtype(), W => {
        let elements = weight.words::<W>().unwrap_or(&[]);
        Tensor::written_words(&shape, weight.dtype(), |out| table::gather(out, elements, width, &places))
    }))
}

pub(super) fn index_select(x: &Tensor, index: &Tensor, dim: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    let (outer, size, inner) = around(x.shape(), dim);
    let places = places(index, size)?;
    let mut shape = Dims::from_slice(x.shape());
    if let Some(size) = shape.get_mut(dim) {
        *size = places.len();
    }
    let x = x.contiguous();
    Ok(dispatch_words!(x.dtype(), W => {
        let elements = x.words::<W>().unwrap_or(&[]);
        Tensor::written_words(&shape, x.dtype(), |out| {
            for (part, out) in out.chunks_exact_mut((places.len() * inner).max(1)).enumerate().take(outer) {
                let part = &elements[part * size * inner..(part + 1) * size * inner];
                table::gather(out, part, inner, &places);
            }
        })
    }))
}

pub(super) fn gather(x: &Tensor, index: &Tensor, dim: i64) -> Result<Tensor> {
    let dim = shape::dim(dim, x.ndim())?;
    if index.numel() == 0 {
        return Ok(Tensor::filled(index.shape(), 0_i64, x.dtype()));
    }
    // Without what no index reaches, both have one shape but for `dim`.
    let x = (0..x.ndim()).filter(|i| *i != dim).fold(x.clone(), |x, i| view::narrow(&x, i, 0, index.shape()[i]));
    let x = x.contiguous();
    let targets = Targets::new(index, x.shape(), dim)?;
    Ok(dispatch_words!(x.dtype(), W => {
        let elements = x.words::<W>().unwrap_or(&[]);
        Tensor::written_words(index.shape(), x.dtype(), |out| targets.read(elements, out))
    }))
}

pub(super) fn take_along_dim(x: &Tensor, indices: &Tensor, dim: i64) -> Result<Tensor> {
    let at = shape::dim(dim, x.ndim())?;
    let size = x.shape().get(at).copied().unwrap_or(1) as i64;
    // PyTorch takes these indices modulo the size, unlike those of `gather`.
    let wrapped = crate::tensor::iter::map::<i64, i64>(indices, |index| index.rem_euclid(size.max(1)));
    let symbolic = |x: &Tensor| x.shape().iter().map(|&dim| Dim::from(dim)).collect::<Shape>();
    let concrete = |shape: &Shape| shape.iter().map(|dim| dim.as_int().unwrap_or(0) as usize).collect::<Dims>();
    let (input, result) = infer::along(&symbolic(x), &symbolic(indices), at)?;
    gather(&view::expand(x, &concrete(&input)), &view::expand(&wrapped, &concrete(&result)), dim)
}

pub(super) fn masked_select(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let shape = view::broadcast_shape(&[x.shape(), mask.shape()])
        .ok_or_else(|| Error::shape(format!("{:?} and {:?} do not broadcast", x.shape(), mask.shape())))?;
    let (x, mask) = (view::expand(x, &shape), view::expand(mask, &shape).to_vec::<bool>());
    let x = x.contiguous();
    Ok(dispatch_words!(x.dtype(), W => {
        let words = x.words::<W>().unwrap_or(&[]);
        let chosen: Vec<W> = words.iter().zip(mask).filter(|(_, holds)| *holds).map(|(word, _)| *word).collect();
        Tensor::of_words(&[chosen.len()], x.dtype(), chosen)
    }))
}

pub(super) fn nonzero(x: &Tensor) -> Result<Tensor> {
    let holds = x.to_dtype(DType::Bool).to_vec::<bool>();
    let found: Vec<usize> = (0..holds.len()).filter(|&place| holds[place]).collect();
    let strides = crate::tensor::row_major(x.shape());
    let mut out = Vec::with_capacity(found.len() * x.ndim());
    for &place in &found {
        let mut rest = place;
        for &stride in &strides {
            out.push((rest / stride) as i64);
            rest %= stride;
        }
    }
    Ok(Tensor::from_vec([found.len(), x.ndim()], out))
}

pub(super) fn one_hot(x: &Tensor, num_classes: i64) -> Result<Tensor> {
    let classes = x.to_vec::<i64>();
    let count = match num_classes {
        -1 => classes.iter().copied().max().unwrap_or(0).saturating_add(1).max(1),
        count => count,
    };
    let count = usize::try_from(count).unwrap_or(0);
    let places: Vec<usize> = classes.iter().map(|&class| place(class, count)).collect::<Result<_>>()?;
    let numel = count.checked_mul(places.len()).filter(|numel| *numel < isize::MAX as usize / 8);
    let room = numel.filter(|numel| Vec::<i64>::new().try_reserve_exact(*numel).is_ok());
    let numel = room.ok_or_else(|| Error::shape(format!("there is no memory for {count} classes")))?;
    let mut out = vec![0_i64; numel];
    for (row, place) in places.into_iter().enumerate() {
        out[row * count + place] = 1;
    }
    let mut shape = Dims::from_slice(x.shape());
    shape.push(count);
    Ok(Tensor::from_vec(&shape, out))
}
