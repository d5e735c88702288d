//! A number around a tensor, or more of its own elements.

use std::sync::Arc;

use fx_kernels::copy::{MOST_DIMS, copy};
use smallvec::{SmallVec, smallvec};

use super::{Kernel, Lowered, Margin, Operands, Site, Wanted};
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::ops::places::{padded, runs};
use crate::tensor::{DType, Dims};

/// Copies elements of a tensor, or a number, to each part of the result.
#[derive(Clone)]
struct Pad {
    from: Layout,
    to: Layout,
    /// The pieces of each dimension, whose parts are where they meet.
    pieces: Vec<SmallVec<[Piece; 3]>>,
    value: f32,
}

/// Neighbours along a dimension.
#[derive(Clone, Copy)]
struct Piece {
    to: usize,
    /// The first of the elements that they are; none where they are a number.
    from: Option<usize>,
    count: usize,
}

/// The most parts of a result that are copied one by one.
const MOST_PARTS: usize = 1024;

pub(super) fn pad(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let amounts = site.attribute::<kind::ints>("pad", SmallVec::new())?;
    let value = site.attribute::<kind::opt_float>("value", None)?.unwrap_or(0.0) as f32;
    let mode = site.attribute::<kind::string>("mode", "constant".into())?;
    let ndim = Some(input.shape.len()).filter(|ndim| *ndim <= MOST_DIMS)?;
    let mut margins: SmallVec<[[i64; 2]; 4]> = smallvec![[0; 2]; ndim];
    // The last dimension comes first.
    for (margin, pair) in margins.iter_mut().rev().zip(amounts.chunks_exact(2)) {
        *margin = [pair[0], pair[1]];
    }
    let sizes = input.shape.iter().zip(margins);
    let pieces: Vec<_> = sizes.map(|(size, margin)| Piece::all(&padded(&mode, *size, margin))).collect();
    if pieces.iter().map(SmallVec::len).product::<usize>() > MOST_PARTS {
        return None;
    }
    // Images stay as convolutions want them.
    let to = Layout::images(DType::F32, site.shape(), input.has_channels_last());
    let kernel = Pad { from: input.clone(), to: to.clone(), pieces, value };
    let wanted = Wanted::new(register, input.clone());
    Some(Lowered::new(kernel, smallvec![wanted], to))
}

/// The zeros that a call puts around images, if these are all that it gives.
pub(in super::super) fn margins(site: &Site<'_>) -> Option<SmallVec<[Margin; 3]>> {
    let (input, _) = site.value(0)?;
    let amounts = site.attribute::<kind::ints>("pad", SmallVec::new())?;
    let value = site.attribute::<kind::opt_float>("value", None)?.unwrap_or(0.0);
    let is_zero = site.attribute::<kind::string>("mode", "constant".into())? == "constant" && value == 0.0;
    let mut margins: SmallVec<[Margin; 3]> = smallvec![[0; 2]; input.shape.len().checked_sub(2)?];
    if !is_zero || amounts.len() > 2 * margins.len() || input.numel() == 0 {
        return None;
    }
    // The last dimension comes first.
    for (margin, pair) in margins.iter_mut().rev().zip(amounts.chunks_exact(2)) {
        *margin = [usize::try_from(pair[0]).ok()?, usize::try_from(pair[1]).ok()?];
    }
    Some(margins)
}

impl Piece {
    /// The pieces of a dimension whose elements come from these places: one by one where they go down.
    fn all(places: &[Option<usize>]) -> SmallVec<[Self; 3]> {
        let (mut pieces, mut to) = (SmallVec::new(), 0);
        for run in runs(places) {
            match run.first {
                Some(_) if run.down => {
                    pieces.extend((0..run.len).map(|i| Self { to: to + i, from: run.place(i), count: 1 }));
                }
                from => pieces.push(Self { to, from, count: run.len }),
            }
            to += run.len;
        }
        pieces
    }
}

impl Kernel for Pad {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let (x, none) = (operands[0].unwrap_or(&[]), Dims::from_elem(0, self.to.shape.len()));
        for part in 0..self.pieces.iter().map(SmallVec::len).product() {
            let (mut rest, mut place, mut first, mut shape) = (part, 0, Some(0), self.to.shape.clone());
            for (dim, pieces) in self.pieces.iter().enumerate() {
                let Piece { to, from, count } = pieces[rest % pieces.len()];
                rest /= pieces.len();
                place += to * self.to.strides[dim];
                first = first.zip(from).map(|(first, from)| first + from * self.from.strides[dim]);
                shape[dim] = count;
            }
            let (elements, strides) = match first {
                Some(first) => (&x[first..], &self.from.strides),
                None => (&[self.value][..], &none),
            };
            copy(&mut out[place..], &self.to.strides, elements, strides, &shape);
        }
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let (from, to) = (self.from.part(count)?, self.to.part(count)?);
        let mut part = Self { from, to, ..self.clone() };
        match &mut part.pieces[0][..] {
            [Piece { to: 0, from: Some(0), count }] if *count == self.from.shape[0] => *count = part.from.shape[0],
            _ => return None,
        }
        Some(Arc::new(part))
    }

    fn describe(&self) -> String {
        "pad".into()
    }
}
