//! Tensors one after the other.

use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::copy::{MOST_DIMS, Rows, concatenate, join_words};
use smallvec::SmallVec;

use super::{Kernel, Lowered, Operands, Site, Wanted, all_half, read, words_of, written};
use crate::arg::Arg;
use crate::compile::known::Known;
use crate::compile::layout::Layout;
use crate::ops::{functions as ops, kind};
use crate::tensor::{DType, Dims, Tensor};

/// Copies each operand to its place.
#[derive(Clone)]
struct Concat {
    /// The strides of the result.
    strides: Dims,
    dim: usize,
    parts: SmallVec<[Part; 4]>,
    /// In how many rows the operands stand side by side, if they do.
    rows: Option<usize>,
    /// What the result is rounded to, if it is words.
    words: Option<Rounded>,
}

#[derive(Clone)]
struct Part {
    /// How it lies.
    layout: Layout,
    /// The numbers, if they are known.
    known: Option<Tensor>,
    /// Whether it is words already.
    words: bool,
    /// How far its rows are apart, in elements, if it has some.
    distance: usize,
}

impl Part {
    /// The elements of each of so many rows.
    fn row(&self, rows: usize) -> usize {
        self.layout.numel() / rows
    }

    /// How far rows are apart that stand beside others in a result whose dimensions come in an order, the first ones before these, if it has
    /// such: what is a part of something else has gaps between them, and only there.
    fn distance(&self, order: &[usize], outer: &[usize], row: usize) -> Option<usize> {
        let mut dense = Layout::in_order(self.layout.dtype, &self.layout.shape, order);
        let last = outer.iter().rev().find(|dim| self.layout.shape[**dim] > 1);
        let distance = last.map_or(row, |dim| self.layout.strides[*dim]);
        for dim in outer {
            dense.strides[*dim] = dense.strides[*dim] / row.max(1) * distance;
        }
        (distance >= row && self.layout.is(&dense)).then_some(distance)
    }
}

/// Tensors along a dimension, or a new one.
pub(super) fn cat(site: &Site<'_>) -> Option<Lowered> {
    let items = site.arg(0).as_items()?;
    let is_new = site.function == ops::stack;
    let ndim = Some(site.shape().len()).filter(|ndim| *ndim <= MOST_DIMS)?;
    let dim = site.attribute::<kind::int>("dim", 0)?;
    let dim = usize::try_from(if dim < 0 { dim + ndim as i64 } else { dim }).ok().filter(|dim| *dim < ndim)?;
    // Images stay as convolutions want them.
    let has_channels_last =
        |item: &Arg<Known>| matches!(item, Arg::Value(Known::Value(layout, _)) if layout.has_channels_last());
    let output = Layout::images(DType::F32, site.shape(), !is_new && items.iter().any(has_channels_last));
    let (mut parts, mut operands) = (SmallVec::<[Part; 4]>::new(), SmallVec::new());
    for item in items {
        let (layout, known) = match item.as_value()? {
            Known::Value(layout, register) => {
                operands.push(Wanted::new(*register, layout.clone()));
                (layout.clone(), None)
            }
            known => known.single().map(|tensor| (Layout::of(&tensor), Some(tensor)))?,
        };
        let layout = if is_new { layout.with_dim(dim) } else { layout };
        // An empty tensor of one dimension goes with any others.
        if layout.dtype != DType::F32 || layout.shape.len() != ndim {
            return None;
        }
        parts.push(Part { layout, known, words: false, distance: 0 });
    }
    if operands.is_empty() {
        return None;
    }
    let rows = rows(&mut parts, dim, &output);
    Some(Lowered::new(Concat { strides: output.strides.clone(), dim, parts, rows, words: None }, operands, output))
}

/// In how many rows parts along a dimension stand side by side in a result that lies so, if they do. Finds how far those of each are apart.
fn rows(parts: &mut [Part], dim: usize, layout: &Layout) -> Option<usize> {
    let order = layout.slowest_first();
    let outer: SmallVec<[usize; 6]> = order.iter().copied().take_while(|other| *other != dim).collect();
    let rows = Some(outer.iter().map(|dim| layout.shape[*dim]).product()).filter(|rows| *rows > 0)?;
    for part in parts {
        part.distance = part.distance(&order, &outer, part.row(rows))?;
    }
    Some(rows)
}

impl Kernel for Concat {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let mut values = operands.iter();
        let parts = self.parts.iter().map(|part| {
            let numbers = match &part.known {
                Some(tensor) => tensor.as_slice(),
                None => values.next().copied().flatten(),
            };
            (part, numbers.unwrap_or(&[]))
        });
        let (Some(rounded), Some(rows)) = (self.words, self.rows) else {
            let parts: SmallVec<[_; 16]> =
                parts.map(|(part, x)| (x, &*part.layout.strides, &*part.layout.shape)).collect();
            return concatenate(out, &self.strides, self.dim, &parts);
        };
        let rows_of = |(part, data): (&Part, _)| {
            let words = part.row(rows) / rounded.numbers();
            Rows { data, stride: if part.words { words } else { part.distance }, words, numbers: !part.words }
        };
        let parts: SmallVec<[_; 16]> = parts.map(rows_of).collect();
        let len = rows * parts.iter().map(|part| part.words).sum::<usize>();
        join_words(&mut out[..len], rounded, &parts);
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = |part: &Part| {
            let layout = part.layout.part(count).filter(|_| part.known.is_none())?;
            Some(Part { layout, ..part.clone() })
        };
        let parts = self.parts.iter().map(part).collect::<Option<_>>().filter(|_| self.dim > 0)?;
        // Images are the outermost dimension of rows too.
        Some(Arc::new(Self { parts, rows: self.rows.map(|rows| rows / count), ..self.clone() }))
    }

    fn joined(&self) -> Option<SmallVec<[usize; 4]>> {
        let rows = self.rows?;
        let is_dense = |part: &Part, row: &usize| part.known.is_none() && *row > 0 && *row == part.distance;
        self.parts.iter().map(|part| Some(part.row(rows)).filter(|row| is_dense(part, row))).collect()
    }

    fn is_half(&self, operands: &[bool]) -> bool {
        all_half(operands)
    }

    fn rounds(&self, _operand: usize) -> Option<Rounded> {
        self.words
    }

    fn reading_words(&self, operand: usize, _rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        let (rows, mut parts) = (self.rows?, kernel.parts.iter_mut().filter(|part| part.known.is_none()));
        let part = parts.nth(operand).filter(|part| part.row(rows) == part.distance)?;
        part.words = true;
        Some(Arc::new(kernel))
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let words = words_of(layout, rounded)?;
        let rows = self.rows.filter(|_| rounded.is_written())?;
        let is_whole = |part: &Part| part.row(rows).is_multiple_of(rounded.numbers());
        let kernel = || Arc::new(Self { words: Some(rounded), ..self.clone() });
        self.parts.iter().all(is_whole).then(|| (kernel() as Arc<dyn Kernel>, words))
    }

    fn describe(&self) -> String {
        let (all, words) = (self.parts.len(), self.parts.iter().filter(|part| part.words).count());
        let (output, input) = (self.words, read(self.words.filter(|_| words > 0)));
        let some = if words > 0 && words < all { format!(", {words}{input},") } else { input.to_owned() };
        format!("cat of {all}{some}{}", written(output))
    }
}
