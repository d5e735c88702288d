//! Rotary position embeddings.

use fx_kernels::rows::{Along, rotate_halves};
use smallvec::SmallVec;

use super::{Kernel, Lowered, Operands, Wanted};
use crate::compile::layout::Layout;
use crate::tensor::{DType, Dims, Tensor};

/// Rows times cosines, plus their turned halves times sines.
struct Rotary {
    /// The dimensions of the result but for its rows, from the slowest.
    sizes: Dims,
    len: usize,
    /// The distances of rows: of what is rotated, the cosines and the sines.
    strides: [Dims; 3],
    /// The cosines and the sines, if they are known.
    known: [Option<Tensor>; 2],
}

/// Numbers by which rows are multiplied: how they lie, and what is known of them.
pub(in crate::compile) enum Factors {
    Value(Wanted),
    Known(Tensor),
}

impl Factors {
    fn layout(&self) -> Layout {
        match self {
            Self::Value(wanted) => wanted.layout.clone(),
            Self::Known(tensor) => Layout::of(tensor),
        }
    }
}

/// The kernel for rows of a tensor that has neighbours in its last dimension, as cosines and sines have.
pub(in crate::compile) fn rotary(x: Wanted, factors: [Factors; 2]) -> Option<Lowered> {
    let output = x.layout.dense();
    let last = output.shape.len().checked_sub(1)?;
    let len = output.shape[last];
    let mut order = output.slowest_first();
    order.retain(|dim| *dim != last && output.shape[*dim] != 1);
    let along = |layout: &Layout| {
        let lead = last.checked_sub(layout.shape.len().checked_sub(1)?)?;
        let is_one = |dim: usize| dim < lead || layout.shape[dim - lead] == 1;
        let is_row = layout.shape.last() == Some(&len) && layout.strides.last() == Some(&1);
        let fits = (lead..last).all(|dim| is_one(dim) || layout.shape[dim - lead] == output.shape[dim]);
        let stride = |dim: &usize| if is_one(*dim) { 0 } else { layout.strides[*dim - lead] };
        (is_row && fits).then(|| order.iter().map(stride).collect::<Dims>())
    };
    let is_single = |layout: &Layout| layout.dtype == DType::F32;
    let all_single = is_single(&output) && factors.iter().all(|factors| is_single(&factors.layout()));
    if !all_single || output.strides[last] != 1 || !len.is_multiple_of(2) || output.numel() == 0 {
        return None;
    }
    let strides = [along(&x.layout)?, along(&factors[0].layout())?, along(&factors[1].layout())?];
    let mut operands: SmallVec<[Wanted; 4]> = SmallVec::from_iter([x]);
    let known = factors.map(|factors| match factors {
        Factors::Value(wanted) => {
            operands.push(wanted);
            None
        }
        Factors::Known(tensor) => Some(tensor),
    });
    let sizes = order.iter().map(|dim| output.shape[*dim]).collect();
    Some(Lowered::new(Rotary { sizes, len, strides, known }, operands, output))
}

impl Kernel for Rotary {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let mut values = operands.iter();
        let known = [None, self.known[0].as_ref(), self.known[1].as_ref()];
        let operands = [0, 1, 2].map(|index: usize| {
            let data = known[index].map_or_else(|| values.next().copied().flatten(), Tensor::as_slice);
            Along { data: data.unwrap_or(&[]), strides: &self.strides[index] }
        });
        let len = self.sizes.iter().product::<usize>() * self.len;
        rotate_halves(&mut out[..len], &self.sizes, self.len, operands);
    }

    fn describe(&self) -> String {
        format!("rotary embedding of {}", self.len)
    }
}
