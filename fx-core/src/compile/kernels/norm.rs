//! Calls that work along rows: softmax, normalisations, means and other reductions.

use std::ops::Range;
use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::rows::{self, Affine, Groups, Input, Reduction, Softmax, reduces_in_cache};
use smallvec::smallvec;

use super::pointwise::scale_and_shift;
use super::{ByRows, Kernel, Lowered, Operands, Site, Wanted, read, rows_of_words, written};
use crate::compile::layout::Layout;
use crate::ops::{Function, functions as ops, kind};
use crate::tensor::{DType, Dims, Tensor, numel};

/// A kernel whose result lies in row-major order, like its operand.
fn lowered(kernel: impl Kernel + 'static, input: &Layout, register: usize) -> Lowered {
    let layout = Layout::row_major(DType::F32, &input.shape);
    let operands = smallvec![Wanted::new(register, layout.clone())];
    Lowered::new(kernel, operands, layout)
}

fn input<'a>(operands: &Operands<'a>, len: usize) -> Input<'a> {
    operands[0].map_or_else(Input::output, |x| Input::of(&x[..len]))
}

struct SoftmaxRows {
    kind: Softmax,
    len: usize,
    inner: usize,
}

pub(super) fn softmax(site: &Site<'_>) -> Option<Lowered> {
    let (layout, register) = site.value(0)?;
    let dim = dimension(site.attribute::<kind::int>("dim", -1)?, layout.shape.len())?;
    let kind = if site.function == ops::softmax { Softmax::Plain } else { Softmax::Log };
    let kernel = SoftmaxRows { kind, len: layout.shape[dim], inner: numel(&layout.shape[dim + 1..]) };
    Some(lowered(kernel, layout, register))
}

fn dimension(dim: i64, ndim: usize) -> Option<usize> {
    usize::try_from(if dim < 0 { dim + ndim as i64 } else { dim }).ok().filter(|dim| *dim < ndim)
}

impl Kernel for SoftmaxRows {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let input = input(operands, out.len());
        rows::softmax(self.kind, out, input, self.len, self.inner);
    }

    fn overwrites(&self, operand: usize) -> bool {
        operand == 0
    }

    fn is_softmax(&self) -> bool {
        self.kind == Softmax::Plain && self.inner == 1
    }

    fn describe(&self) -> String {
        let name = if self.kind == Softmax::Plain { "softmax" } else { "log_softmax" };
        format!("{name} of {}", self.len)
    }
}

#[derive(Clone)]
struct Norm {
    is_rms: bool,
    len: usize,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    eps: f32,
    /// What the result is rounded to, if it is words.
    words: Option<Rounded>,
}

pub(super) fn layer_norm(site: &Site<'_>) -> Option<Lowered> {
    let (layout, register) = site.value(0)?;
    let is_rms = site.function == ops::rms_norm;
    let dims = site.attribute::<kind::ints>("normalized_shape", smallvec![])?.len();
    let len = numel(&layout.shape[layout.shape.len().checked_sub(dims)?..]);
    let (weight, eps) = (site.optional(1)?, epsilon(site, is_rms)?);
    let bias = if is_rms { None } else { site.optional(2)? };
    Some(lowered(Norm { is_rms, len, weight, bias, eps, words: None }, layout, register))
}

fn epsilon(site: &Site<'_>, is_rms: bool) -> Option<f32> {
    let eps = if is_rms {
        site.attribute::<kind::opt_float>("eps", None)?.unwrap_or(f64::from(f32::EPSILON))
    } else {
        site.attribute::<kind::float>("eps", 1e-5)?
    };
    Some(eps as f32)
}

/// The factors and summands of a norm.
fn affine<'a>(weight: &'a Option<Tensor>, bias: &'a Option<Tensor>, eps: f32) -> Affine<'a> {
    Affine { weight: weight.as_ref().and_then(Tensor::as_slice), bias: bias.as_ref().and_then(Tensor::as_slice), eps }
}

impl Kernel for Norm {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let affine = affine(&self.weight, &self.bias, self.eps);
        if let Some(rounded) = self.words {
            let x = &operands[0].unwrap_or(&[])[..out.len() * rounded.numbers()];
            return rows::norm_to_words(out, x, self.len, affine, !self.is_rms, rounded);
        }
        let input = input(operands, out.len());
        if self.is_rms {
            rows::rms_norm(out, input, self.len, affine);
        } else {
            rows::layer_norm(out, input, self.len, affine);
        }
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let is_whole = layout.shape.last()?.is_multiple_of(rounded.numbers()) && rounded.is_written();
        let layout = rows_of_words(layout, rounded).filter(|_| is_whole)?;
        Some((Arc::new(Self { words: Some(rounded), ..self.clone() }), layout))
    }

    fn overwrites(&self, operand: usize) -> bool {
        operand == 0 && self.words.is_none()
    }

    fn describe(&self) -> String {
        let name = if self.is_rms { "rms_norm" } else { "layer_norm" };
        format!("{name} of {}{}", self.len, written(self.words))
    }
}

/// What a group norm or an instance norm multiplies each channel with and adds to it.
#[derive(Clone)]
struct GroupFactors {
    shape: Groups,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    eps: f32,
}

/// Group norm and instance norm: factors and summands, each `[images, channels]` and as many 1 as the input has other dimensions, and the
/// product and sum with these, which what follows can be computed with.
pub(super) fn group_norm(site: &Site<'_>) -> Option<Lowered> {
    let is_group = site.function == ops::group_norm;
    let (layout, register) = site.value(0)?;
    let layout = layout.dense();
    let (images, channels) = (*layout.shape.first()?, *layout.shape.get(1)?);
    let channels_last = layout.is_channels_last();
    if !channels_last && !layout.is_row_major() {
        return None;
    }
    let groups = match is_group {
        true => usize::try_from(site.attribute::<kind::int>("num_groups", 0)?).ok()?,
        false if site.attribute::<kind::flag>("use_input_stats", true)? => channels,
        false => return None,
    };
    let first = if is_group { 1 } else { 3 };
    let (weight, bias) = (site.optional(first)?, site.optional(first + 1)?);
    let eps = site.attribute::<kind::float>("eps", 1e-5)? as f32;
    let shape = Groups { channels, groups, area: numel(&layout.shape[2..]), channels_last, pairs: false };
    let mut each: Dims = smallvec![1; layout.shape.len()];
    each[..2].copy_from_slice(&[images, channels]);
    let part = Layout::row_major(DType::F32, &each);
    let kernel = GroupFactors { shape, weight, bias, eps };
    let output = Layout::row_major(DType::F32, &[2, images, channels]);
    let lowered = Lowered::new(kernel, smallvec![Wanted::new(register, layout)], output);
    Some(Lowered { parts: smallvec![part.clone(), part], then: Some(scale_and_shift), ..lowered })
}

impl Kernel for GroupFactors {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let Groups { area, pairs, .. } = self.shape;
        let numbers = out.len() / 2 * area;
        let x = &operands[0].unwrap_or(&[])[..if pairs { numbers / 2 } else { numbers }];
        rows::group_factors(out, x, self.shape, affine(&self.weight, &self.bias, self.eps));
    }

    fn takes(&self, _operand: usize) -> Option<Rounded> {
        let Groups { channels, channels_last, .. } = self.shape;
        (channels_last && channels.is_multiple_of(2)).then_some(Rounded::Pairs)
    }

    fn reading_words(&self, _operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        let shape = Groups { pairs: true, ..self.shape };
        (rounded == Rounded::Pairs).then(|| Arc::new(Self { shape, ..self.clone() }) as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        let Groups { channels, groups, pairs, .. } = self.shape;
        let from = read(pairs.then_some(Rounded::Pairs));
        format!("factors of {groups} groups of {channels} channels{from}")
    }
}

/// A reduction along the middle of `[outer, len, inner]`.
#[derive(Clone, Copy)]
struct Reduce {
    reduction: Reduction,
    len: usize,
    inner: usize,
    /// Whether the first dimension is not among those that are reduced.
    keeps_batch: bool,
    /// Whether it is of words of two bf16.
    pairs: bool,
}

/// What a call computes of many numbers.
fn reduction_of(function: Function) -> Option<Reduction> {
    let rows = [
        (ops::mean, Reduction::Mean),
        (ops::adaptive_avg_pool1d, Reduction::Mean),
        (ops::adaptive_avg_pool2d, Reduction::Mean),
        (ops::adaptive_avg_pool3d, Reduction::Mean),
        (ops::sum, Reduction::Sum),
        (ops::amax, Reduction::Max),
        (ops::adaptive_max_pool1d, Reduction::Max),
        (ops::adaptive_max_pool2d, Reduction::Max),
        (ops::adaptive_max_pool3d, Reduction::Max),
        (ops::amin, Reduction::Min),
    ];
    rows.into_iter().find(|(known, _)| *known == function).map(|(_, reduction)| reduction)
}

/// A reduction over some dimensions, or all.
pub(super) fn reduce(site: &Site<'_>) -> Option<Lowered> {
    let ndim = site.value(0)?.0.shape.len();
    if site.kwargs.iter().any(|(key, _)| key == "dtype") {
        return None;
    }
    match site.attribute::<kind::opt_ints>("dim", None)? {
        Some(dims) if !dims.is_empty() => {
            reduced(site, &dims.iter().map(|dim| dimension(*dim, ndim)).collect::<Option<Vec<_>>>()?)
        }
        _ => reduced(site, &(0..ndim).collect::<Vec<_>>()),
    }
}

/// Pooling of whole images, lines or volumes.
pub(super) fn global_pool(site: &Site<'_>) -> Option<Lowered> {
    let dims: Vec<usize> = (2..site.shape().len()).collect();
    dims.iter().all(|dim| site.shape()[*dim] == 1).then(|| reduced(site, &dims))?
}

/// A reduction over dimensions that follow each other in memory as they lie, or in rows.
fn reduced(site: &Site<'_>, dims: &[usize]) -> Option<Lowered> {
    let ((layout, register), reduction) = (site.value(0)?, reduction_of(site.function)?);
    let rows = Layout::row_major(DType::F32, &layout.shape);
    let (lies, (len, inner)) =
        [layout.clone(), rows].into_iter().find_map(|lies| neighbours(&lies, dims).map(|sizes| (lies, sizes)))?;
    let kernel = Reduce { reduction, len, inner, keeps_batch: !dims.contains(&0), pairs: false };
    let output = Layout::row_major(DType::F32, site.shape());
    Some(Lowered::new(kernel, smallvec![Wanted::new(register, lies)], output))
}

/// How many elements dimensions have, and those after them in memory, if they follow each other there and the others are in order.
fn neighbours(layout: &Layout, dims: &[usize]) -> Option<(usize, usize)> {
    let order = layout.order()?;
    let is_reduced = |dim: &&usize| dims.contains(dim);
    let size = |dims: &[usize]| dims.iter().map(|dim| layout.shape[*dim]).product();
    let before = order.iter().take_while(|dim| !is_reduced(dim)).count();
    let end = before + order[before..].iter().take_while(is_reduced).count();
    let kept = order[..before].iter().chain(&order[end..]);
    let is_one = !order[end..].iter().any(|dim| dims.contains(dim));
    (is_one && kept.is_sorted()).then(|| (size(&order[before..end]), size(&order[end..])))
}

impl Kernel for Reduce {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let (x, numbers) = (operands[0].unwrap_or(&[]), out.len() * self.len);
        match self.pairs {
            true => rows::reduce_pairs(self.reduction, out, &x[..numbers / 2], self.len, self.inner),
            false => rows::reduce(self.reduction, out, &x[..numbers], self.len, self.inner),
        }
    }

    fn takes(&self, _operand: usize) -> Option<Rounded> {
        self.inner.is_multiple_of(2).then_some(Rounded::Pairs)
    }

    fn reading_words(&self, _operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        (rounded == Rounded::Pairs).then(|| Arc::new(Self { pairs: true, ..*self }) as Arc<dyn Kernel>)
    }

    fn part(&self, _count: usize) -> Option<Arc<dyn Kernel>> {
        self.keeps_batch.then(|| Arc::new(*self) as Arc<dyn Kernel>)
    }

    fn after(&self, before: &dyn Kernel, _operand: usize) -> Option<Arc<dyn Kernel>> {
        let before = before.by_rows(self.inner)?;
        reduces_in_cache(before.inputs(), self.len, self.inner)
            .then(|| Arc::new(ReducedRows { reduce: *self, before }) as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        let name = match self.reduction {
            Reduction::Mean => "mean",
            Reduction::Sum => "sum",
            Reduction::Product => "product",
            Reduction::Max => "largest",
            Reduction::Min => "smallest",
        };
        format!("{name} of {}{}", self.len, read(self.pairs.then_some(Rounded::Pairs)))
    }
}

/// What computes rows that are reduced while they are in the cache.
struct ReducedRows {
    reduce: Reduce,
    before: Arc<dyn ByRows>,
}

impl Kernel for ReducedRows {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let Reduce { reduction, len, inner, .. } = self.reduce;
        let flops = 2 * out.len() * len * self.before.inputs();
        let compute = |rows: Range<usize>, numbers: &mut [f32]| self.before.run_rows(rows, numbers, operands);
        rows::reduce_computed(reduction, out, len, inner, flops, &compute);
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        self.reduce.part(count)?;
        let before = self.before.part(count)?.by_rows(self.reduce.inner)?;
        Some(Arc::new(Self { before, ..*self }))
    }

    fn rounds(&self, operand: usize) -> Option<Rounded> {
        self.before.rounds(operand)
    }

    fn reading_words(&self, operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        let before = self.before.reading_words(operand, rounded)?.by_rows(self.reduce.inner)?;
        Some(Arc::new(Self { before, ..*self }))
    }

    fn weights(&self) -> usize {
        self.before.weights()
    }

    fn bytes_saved(&self) -> usize {
        self.before.bytes_saved()
    }

    fn describe(&self) -> String {
        format!("{}, {}", self.before.describe(), self.reduce.describe())
    }
}
