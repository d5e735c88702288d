//! A number around a tensor, or more of its own elements.

use std::sync::Arc;

use fx_kernels::copy::{MOST_DIMS, copy};
use smallvec::{SmallVec, smallvec};

use super::{Kernel, Lowered, Operands, Site, Wanted};
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, Dims};

/// Copies what is kept of a tensor to its place, and fills what is around it.
#[derive(Clone)]
struct Pad {
    from: Layout,
    to: Layout,
    around: Around,
}

#[derive(Clone)]
enum Around {
    /// This number: what each dimension gets more before and after its elements, or less.
    Number(SmallVec<[[i64; 2]; 4]>, f32),
    /// Elements of the tensor, as those of all dimensions meet.
    Elements(Vec<SmallVec<[Run; 3]>>),
}

/// Places along a dimension that are filled from others: from those that follow each other, or all from the same.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    to: usize,
    from: usize,
    count: usize,
    step: usize,
}

/// The most runs of all dimensions together.
const MOST_RUNS: usize = 1024;

pub(super) fn pad(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let amounts = site.attribute::<kind::ints>("pad", SmallVec::new())?;
    let value = site.attribute::<kind::opt_float>("value", None)?.unwrap_or(0.0) as f32;
    let ndim = Some(input.shape.len()).filter(|ndim| *ndim <= MOST_DIMS)?;
    let mut margins: SmallVec<[[i64; 2]; 4]> = smallvec![[0; 2]; ndim];
    // The last dimension comes first.
    for (margin, pair) in margins.iter_mut().rev().zip(amounts.chunks_exact(2)) {
        *margin = [pair[0], pair[1]];
    }
    let cut = |margin: &[i64; 2]| margin.iter().map(|amount| amount.min(&0).unsigned_abs() as usize).sum::<usize>();
    if margins.iter().zip(&input.shape).any(|(margin, size)| cut(margin) >= *size) {
        return None;
    }
    let mode = site.attribute::<kind::string>("mode", "constant".into())?;
    let around = match &*mode {
        "constant" => Around::Number(margins, value),
        mode => {
            let sizes = margins.iter().zip(&input.shape);
            let runs: Vec<_> = sizes.map(|(margin, size)| Run::all(mode, *margin, *size as i64)).collect();
            let count = runs.iter().map(SmallVec::len).product::<usize>();
            (count <= MOST_RUNS).then_some(Around::Elements(runs))?
        }
    };
    // Images stay as convolutions want them.
    let to = Layout::images(DType::F32, site.shape(), input.has_channels_last());
    let kernel = Pad { from: input.clone(), to: to.clone(), around };
    let wanted = Wanted::new(register, input.clone());
    Some(Lowered::new(kernel, smallvec![wanted], to))
}

impl Run {
    /// The runs of a dimension with so many elements, which gets more, or less, before and after them.
    fn all(mode: &str, [before, after]: [i64; 2], len: i64) -> SmallVec<[Self; 3]> {
        let mut runs: SmallVec<[Self; 3]> = SmallVec::new();
        for (to, place) in (-before..len + after).enumerate() {
            let from = match mode {
                _ if (0..len).contains(&place) => place,
                "reflect" if place < 0 => -place,
                "reflect" => 2 * (len - 1) - place,
                "replicate" => place.clamp(0, len - 1),
                _ => place.rem_euclid(len),
            } as usize;
            match runs.last_mut() {
                Some(run) if run.count == 1 && (from == run.from || from == run.from + 1) => {
                    (run.count, run.step) = (2, from - run.from);
                }
                Some(run) if run.count > 1 && from == run.from + run.count * run.step => run.count += 1,
                _ => runs.push(Self { to, from, count: 1, step: 1 }),
            }
        }
        runs
    }
}

impl Pad {
    /// With a number around what is kept.
    fn fill(&self, out: &mut [f32], x: &[f32], margins: &[[i64; 2]], value: f32) {
        let (mut kept, mut first, mut place) = (self.from.shape.clone(), 0, 0);
        let none = Dims::from_elem(0, kept.len());
        for (dim, &[before, after]) in margins.iter().enumerate() {
            let [size, stride] = [self.to.shape[dim], self.to.strides[dim]];
            let added = [before, after].map(|amount| amount.max(0) as usize);
            let cut = [before, after].map(|amount| amount.min(0).unsigned_abs() as usize);
            for (start, count) in [(0, added[0]), (size - added[1], added[1])] {
                let mut shape = self.to.shape.clone();
                shape[dim] = count;
                copy(&mut out[start * stride..], &self.to.strides, &[value], &none, &shape);
            }
            kept[dim] -= cut[0] + cut[1];
            (first, place) = (first + cut[0] * self.from.strides[dim], place + added[0] * stride);
        }
        copy(&mut out[place..], &self.to.strides, &x[first..], &self.from.strides, &kept);
    }

    /// With elements around them, those of each run of each dimension at once.
    fn extend(&self, out: &mut [f32], x: &[f32], runs: &[SmallVec<[Run; 3]>]) {
        for index in 0..runs.iter().map(SmallVec::len).product() {
            let (mut rest, mut place, mut first) = (index, 0, 0);
            let (mut shape, mut strides) = (self.to.shape.clone(), self.from.strides.clone());
            for (dim, runs) in runs.iter().enumerate() {
                let run = runs[rest % runs.len()];
                rest /= runs.len();
                place += run.to * self.to.strides[dim];
                first += run.from * strides[dim];
                (shape[dim], strides[dim]) = (run.count, run.step * strides[dim]);
            }
            copy(&mut out[place..], &self.to.strides, &x[first..], &strides, &shape);
        }
    }
}

impl Kernel for Pad {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let x = operands[0].unwrap_or(&[]);
        match &self.around {
            Around::Number(margins, value) => self.fill(out, x, margins, *value),
            Around::Elements(runs) => self.extend(out, x, runs),
        }
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let (from, to) = (self.from.part(count)?, self.to.part(count)?);
        let mut around = self.around.clone();
        match &mut around {
            Around::Number(margins, _) if margins[0] == [0; 2] => {}
            Around::Elements(runs) if from.shape[0] == to.shape[0] => match &mut runs[0][..] {
                [run] => run.count /= count,
                _ => return None,
            },
            _ => return None,
        }
        Some(Arc::new(Self { from, to, around }))
    }

    fn describe(&self) -> String {
        "pad".into()
    }
}
