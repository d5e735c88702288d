//! A number around a tensor.

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
    /// What each dimension gets more before and after its elements, or less.
    margins: SmallVec<[[i64; 2]; 4]>,
    value: f32,
}

pub(super) fn pad(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let amounts = site.attribute::<kind::ints>("pad", SmallVec::new())?;
    let value = site.attribute::<kind::opt_float>("value", None)?.unwrap_or(0.0) as f32;
    let ndim = Some(input.shape.len()).filter(|ndim| *ndim <= MOST_DIMS)?;
    if site.attribute::<kind::string>("mode", "constant".into())? != "constant" {
        return None;
    }
    let mut margins: SmallVec<[[i64; 2]; 4]> = smallvec![[0; 2]; ndim];
    // The last dimension comes first.
    for (margin, pair) in margins.iter_mut().rev().zip(amounts.chunks_exact(2)) {
        *margin = [pair[0], pair[1]];
    }
    let cut = |margin: &[i64; 2]| margin.iter().map(|amount| amount.min(&0).unsigned_abs() as usize).sum::<usize>();
    if margins.iter().zip(&input.shape).any(|(margin, size)| cut(margin) >= *size) {
        return None;
    }
    // Images stay as convolutions want them.
    let to = Layout::images(DType::F32, site.shape(), input.has_channels_last());
    let kernel = Pad { from: input.clone(), to: to.clone(), margins, value };
    let wanted = Wanted::new(register, input.clone());
    Some(Lowered::new(kernel, smallvec![wanted], to))
}

impl Kernel for Pad {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let (mut kept, mut first, mut place) = (self.from.shape.clone(), 0, 0);
        let none = Dims::from_elem(0, kept.len());
        for (dim, &[before, after]) in self.margins.iter().enumerate() {
            let [size, stride] = [self.to.shape[dim], self.to.strides[dim]];
            let added = [before, after].map(|amount| amount.max(0) as usize);
            let cut = [before, after].map(|amount| amount.min(0).unsigned_abs() as usize);
            for (start, count) in [(0, added[0]), (size - added[1], added[1])] {
                let mut shape = self.to.shape.clone();
                shape[dim] = count;
                copy(&mut out[start * stride..], &self.to.strides, &[self.value], &none, &shape);
            }
            kept[dim] -= cut[0] + cut[1];
            (first, place) = (first + cut[0] * self.from.strides[dim], place + added[0] * stride);
        }
        let x = operands[0].unwrap_or(&[]);
        copy(&mut out[place..], &self.to.strides, &x[first..], &self.from.strides, &kept);
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let (from, to) = (self.from.part(count)?, self.to.part(count)?);
        (self.margins[0] == [0; 2]).then(|| Arc::new(Self { from, to, ..self.clone() }) as Arc<dyn Kernel>)
    }

    fn describe(&self) -> String {
        "pad".into()
    }
}
