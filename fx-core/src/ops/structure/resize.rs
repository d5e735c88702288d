//! Resampling: interpolation and pixel shuffling.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::ops::pool::eval_adaptive_avg;
use crate::ops::shape;
use crate::ops::wide::in_floats;
use crate::tensor::num::Real;
use crate::tensor::{DType, Dims, Element, Tensor, dispatch_words, numel, view};
use crate::value::{Dim, Shape, TensorMeta};

type Sizes<D> = Option<SmallVec<[D; 6]>>;
type Floats = Option<SmallVec<[f64; 4]>>;

pub(super) fn interpolate_shape(
    x: &TensorMeta,
    size: Sizes<Dim>,
    scale: Floats,
    mode: Cow<'static, str>,
    align_corners: Option<bool>,
) -> Result<TensorMeta> {
    let spatial = x.ndim().saturating_sub(2);
    let fits = match &*mode {
        "nearest" | "nearest-exact" => (1..=3).contains(&spatial),
        "area" => (1..=3).contains(&spatial),
        "linear" => spatial == 1,
        "bilinear" | "bicubic" => spatial == 2,
        "trilinear" => spatial == 3,
        other => {
            return Err(Error::argument(format!("there is no interpolation mode `{other}`"))
                .help("the modes are nearest, nearest-exact, linear, bilinear, trilinear, bicubic and area"));
        }
    };
    if !fits {
        return Err(Error::shape(format!("{mode} interpolation does not take {x}")));
    }
    let is_between = mode.contains("linear") || mode == "bicubic";
    if align_corners.is_some() && !is_between {
        return Err(Error::argument("`align_corners` is for linear, bilinear, trilinear and bicubic interpolation"));
    }
    if is_between || mode == "area" {
        shape::require_float(x)?;
    }
    let mut dims = Shape::from(&x.shape[..2]);
    match (size, scale) {
        (Some(size), None) if size.len() == spatial || size.len() == 1 => {
            dims.extend((0..spatial).map(|i| size[i.min(size.len() - 1)].clone()));
        }
        (None, Some(scale)) if scale.len() == spatial || scale.len() == 1 => {
            for i in 0..spatial {
                dims.push(scaled(&x.shape[2 + i], scale[i.min(scale.len() - 1)])?);
            }
        }
        (None, None) | (Some(_), Some(_)) => {
            return Err(Error::argument("exactly one of `size` and `scale_factor` must be given"));
        }
        _ => return Err(Error::argument(format!("a size for each of {spatial} spatial dimensions is needed"))),
    }
    if x.shape[2..].contains(&Dim::Int(0)) {
        return Err(Error::shape(format!("there is nothing to resample in {x}")));
    }
    if dims.iter().any(|dim| dim.as_int().is_some_and(|dim| dim <= 0)) {
        return Err(Error::shape(format!("nothing would be left: {dims:?}")));
    }
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

fn scaled(size: &Dim, scale: f64) -> Result<Dim> {
    match size.as_int() {
        Some(size) => Ok(Dim::Int((size as f64 * scale).floor() as i64)),
        None if scale.fract() == 0.0 => Ok(size * scale as i64),
        None if (1.0 / scale).fract() == 0.0 => Ok(size.floor_div(&Dim::Int((1.0 / scale) as i64))),
        None => Err(Error::shape(format!("a dimension of size {size} cannot be scaled by {scale}"))),
    }
}

pub(super) fn interpolate(
    x: &Tensor,
    size: Sizes<i64>,
    scale: Floats,
    mode: Cow<'static, str>,
    align_corners: Option<bool>,
) -> Result<Tensor> {
    let size = size.map(|size| size.into_iter().map(Dim::from).collect());
    let meta = interpolate_shape(&TensorMeta::from(x), size, scale.clone(), mode.clone(), align_corners)?;
    let shape = meta.concrete_shape().unwrap_or_default();
    if mode == "area" {
        return match shape[2..] {
            [length] => eval_adaptive_avg(x, [length]),
            [height, width] => eval_adaptive_avg(x, [height, width]),
            [depth, height, width] => eval_adaptive_avg(x, [depth, height, width]),
            _ => Ok(x.clone()),
        };
    }
    let lines = Lines::of(x.shape(), &shape, scale.as_deref(), align_corners);
    let is_cubic = mode == "bicubic";
    let resampled = lines.iter().enumerate().filter(|(_, line)| !line.is_kept(is_cubic));
    // Only f64 is resampled at places that are computed in f64.
    let is_double = x.dtype() == DType::F64;
    // The last dimension first, for it is the slowest, and there are fewer rows before the others have grown.
    Ok(resampled.rev().fold(x.clone(), |y, (i, line)| match &*mode {
        "nearest" | "nearest-exact" => nearest(&y, i + 2, &line.nearest(mode == "nearest-exact", is_double)),
        "bicubic" => between(&y, i + 2, &line.cubic()),
        _ => between(&y, i + 2, &line.linear()),
    }))
}

/// What an element is made of: others along its dimension, and their weights.
pub(crate) type Taps<const N: usize> = [(usize, f64); N];

/// How the elements along a spatial dimension are resampled.
#[derive(Clone, Copy)]
pub(crate) struct Lines {
    from: usize,
    to: usize,
    factor: Option<f64>,
    align_corners: bool,
    /// Whether the images are ones for which PyTorch finds the nearest pixel in another way.
    is_small: bool,
}

impl Lines {
    /// Those of each spatial dimension.
    pub(crate) fn of(from: &[usize], to: &[usize], scale: Option<&[f64]>, align_corners: Option<bool>) -> Vec<Self> {
        let is_small = to.len() == 4 && to[2] + to[3] <= 128;
        let line = |dim: usize| Self {
            from: from[dim],
            to: to[dim],
            factor: scale.map(|scale| scale[(dim - 2).min(scale.len() - 1)]),
            align_corners: align_corners.unwrap_or(false),
            is_small,
        };
        (2..from.len()).map(line).collect()
    }

    /// Whether every element stays where it is. PyTorch copies lines that stay as long, whatever the factor, but for cubic
    /// interpolation.
    pub(crate) fn is_kept(&self, is_cubic: bool) -> bool {
        self.from == self.to && (!is_cubic || self.factor.is_none_or(|factor| factor == 1.0))
    }

    /// The element for each place, as PyTorch rounds: also where that is one before the one that is nearest.
    pub(crate) fn nearest(&self, is_exact: bool, is_double: bool) -> Vec<usize> {
        let step = self.factor.map_or(self.from as f64 / self.to as f64, |factor| 1.0 / factor);
        let single = self.factor.map_or(self.from as f32 / self.to as f32, |factor| (1.0 / factor) as f32);
        let place = |i: usize| match (is_exact, self.is_small) {
            (false, true) if self.to == 2 * self.from => (i / 2) as f32,
            (true, true) => ((i as f64 + 0.5) * f64::from(single)) as f32,
            (false, _) if is_double && !self.is_small => (step * i as f64) as f32,
            (false, _) => single * i as f32,
            (true, false) if is_double => (step.mul_add(i as f64 + 0.5, -0.5).max(0.0) + 0.5) as f32,
            (true, false) => single.mul_add(i as f32 + 0.5, -0.5).max(0.0) + 0.5,
        };
        (0..self.to).map(|i| (place(i) as usize).min(self.from - 1)).collect()
    }

    /// The two elements between which each place lies.
    pub(crate) fn linear(&self) -> Vec<Taps<2>> {
        let place = |i: usize| {
            let place = self.place(i).max(0.0);
            let low = (place as usize).min(self.from - 1);
            let weight = place - low as f64;
            [(low, 1.0 - weight), ((low + 1).min(self.from - 1), weight)]
        };
        (0..self.to).map(place).collect()
    }

    /// The four elements around each place, of which those at the edges stand for what is beyond, weighted by the cubic convolution
    /// with -0.75 (Keys, 1981).
    pub(crate) fn cubic(&self) -> Vec<Taps<4>> {
        const A: f64 = -0.75;
        let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
        let far = |x: f64| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
        let place = |i: usize| {
            let place = self.place(i);
            let t = place - place.floor();
            let at = |step: i64| (place.floor() as i64 + step).clamp(0, self.from as i64 - 1) as usize;
            [(at(-1), far(t + 1.0)), (at(0), near(t)), (at(1), near(1.0 - t)), (at(2), far(2.0 - t))]
        };
        (0..self.to).map(place).collect()
    }

    /// Where an element lies along the input.
    fn place(&self, i: usize) -> f64 {
        let (from, to) = (self.from as f64, self.to as f64);
        let step = match self.factor {
            _ if self.align_corners && self.to > 1 => (from - 1.0) / (to - 1.0),
            _ if self.align_corners => 0.0,
            Some(factor) => 1.0 / factor,
            None => from / to,
        };
        if self.align_corners { i as f64 * step } else { (i as f64 + 0.5) * step - 0.5 }
    }
}

/// A tensor as blocks of lines along a dimension: how many blocks, the line's length, the run within a line.
fn blocks(x: &Tensor, dim: usize) -> (usize, usize, usize) {
    (numel(&x.shape()[..dim]), x.shape()[dim], numel(&x.shape()[dim + 1..]))
}

fn resized(x: &Tensor, dim: usize, to: usize) -> Dims {
    let mut shape = Dims::from_slice(x.shape());
    shape[dim] = to;
    shape
}

fn nearest(x: &Tensor, dim: usize, places: &[usize]) -> Tensor {
    let x = x.contiguous();
    let to = places.len();
    let (_, len, inner) = blocks(&x, dim);
    dispatch_words!(x.dtype(), W => {
        let elements = x.words::<W>().unwrap_or(&[]);
        Tensor::written_words(&resized(&x, dim, to), x.dtype(), |out| {
            let lines = out.chunks_exact_mut((to * inner).max(1)).zip(elements.chunks_exact((len * inner).max(1)));
            for (out, line) in lines {
                if inner == 1 {
                    out.iter_mut().zip(places).for_each(|(out, place)| *out = line[*place]);
                    continue;
                }
                for (out, place) in out.chunks_exact_mut(inner).zip(places) {
                    out.copy_from_slice(&line[place * inner..][..inner]);
                }
            }
        })
    })
}

/// Sums of elements along a dimension, with weights.
fn between<const N: usize>(x: &Tensor, dim: usize, places: &[Taps<N>]) -> Tensor {
    let x = x.contiguous();
    let to = places.len();
    let (_, len, inner) = blocks(&x, dim);
    let y = in_floats!(x.dtype(), T => {
        let x = x.to_dtype(T::DTYPE);
        let elements = x.as_slice::<T>().unwrap_or(&[]);
        let places: Vec<_> = places.iter().map(|taps| taps.map(|(place, weight)| (place, T::of(weight)))).collect();
        Tensor::written(&resized(&x, dim, to), |out: &mut [T]| {
            let lines = out.chunks_exact_mut((to * inner).max(1)).zip(elements.chunks_exact((len * inner).max(1)));
            for (out, line) in lines {
                if inner == 1 {
                    for (out, taps) in out.iter_mut().zip(&places) {
                        *out = taps.iter().fold(T::of(0.0), |sum, (place, weight)| sum + line[*place] * *weight);
                    }
                    continue;
                }
                for (out, taps) in out.chunks_exact_mut(inner.max(1)).zip(&places) {
                    for (index, &(place, weight)) in taps.iter().enumerate() {
                        let run = &line[place * inner..][..inner];
                        match index {
                            0 => out.iter_mut().zip(run).for_each(|(out, x)| *out = *x * weight),
                            _ => out.iter_mut().zip(run).for_each(|(out, x)| *out += *x * weight),
                        }
                    }
                }
            }
        })
    });
    y.to_dtype(x.dtype())
}

pub(super) fn pixel_shuffle_shape(x: &TensorMeta, factor: i64) -> Result<TensorMeta> {
    shape::require_ndim(x, "the input", 3.., "at least 3")?;
    let n = x.ndim();
    if factor < 1 || factor > i64::from(i32::MAX) || !maybe_multiple(&x.shape[n - 3], factor * factor) {
        return Err(Error::shape(format!("{} channels are no multiple of {factor} * {factor}", x.shape[n - 3])));
    }
    let mut dims = x.shape.clone();
    dims[n - 3] = dims[n - 3].floor_div(&Dim::Int(factor * factor));
    dims[n - 2] = &dims[n - 2] * factor;
    dims[n - 1] = &dims[n - 1] * factor;
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

pub(super) fn pixel_unshuffle_shape(x: &TensorMeta, factor: i64) -> Result<TensorMeta> {
    shape::require_ndim(x, "the input", 3.., "at least 3")?;
    let n = x.ndim();
    if factor < 1
        || factor > i64::from(i32::MAX)
        || !maybe_multiple(&x.shape[n - 2], factor)
        || !maybe_multiple(&x.shape[n - 1], factor)
    {
        return Err(Error::shape(format!("the height and width of {x} are no multiples of {factor}")));
    }
    let mut dims = x.shape.clone();
    dims[n - 3] = &dims[n - 3] * factor * factor;
    dims[n - 2] = dims[n - 2].floor_div(&Dim::Int(factor));
    dims[n - 1] = dims[n - 1].floor_div(&Dim::Int(factor));
    Ok(TensorMeta { shape: dims, dtype: x.dtype })
}

fn maybe_multiple(dim: &Dim, factor: i64) -> bool {
    dim.as_int().is_none_or(|dim| dim % factor == 0)
}

pub(super) fn pixel_shuffle(x: &Tensor, factor: i64) -> Result<Tensor> {
    let (r, n) = (factor as usize, x.ndim());
    let (lead, c, h, w) = (&x.shape()[..n - 3], x.shape()[n - 3], x.shape()[n - 2], x.shape()[n - 1]);
    let outer = numel(lead);
    let split = view::reshape(x, &[outer, c / (r * r), r, r, h, w]);
    let mut shape = Dims::from_slice(lead);
    shape.extend([c / (r * r), h * r, w * r]);
    Ok(view::reshape(&view::permute(&split, &[0, 1, 4, 2, 5, 3]), &shape))
}

pub(super) fn pixel_unshuffle(x: &Tensor, factor: i64) -> Result<Tensor> {
    let (r, n) = (factor as usize, x.ndim());
    let (lead, c, h, w) = (&x.shape()[..n - 3], x.shape()[n - 3], x.shape()[n - 2], x.shape()[n - 1]);
    let outer = numel(lead);
    let split = view::reshape(x, &[outer, c, h / r, r, w / r, r]);
    let mut shape = Dims::from_slice(lead);
    shape.extend([c * r * r, h / r, w / r]);
    Ok(view::reshape(&view::permute(&split, &[0, 1, 3, 5, 2, 4]), &shape))
}
