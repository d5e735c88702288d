//! Copies from one layout into another.

use super::{Kernel, Operands};
use crate::compile::layout::Layout;

/// Copies a value into another layout.
pub(in crate::compile) struct Copy {
    /// Sizes with the steps of both sides, from the slowest of the output to the fastest.
    dims: Vec<[usize; 3]>,
    from: &'static str,
    to: &'static str,
}

impl Copy {
    pub(in crate::compile) fn new(from: &Layout, to: &Layout) -> Self {
        let mut dims: Vec<[usize; 3]> =
            (0..to.shape.len()).map(|dim| [to.shape[dim], from.strides[dim], to.strides[dim]]).collect();
        dims.retain(|[size, ..]| *size != 1);
        dims.sort_by_key(|[_, _, step]| std::cmp::Reverse(*step));
        // Dimensions that continue each other on both sides are one.
        let mut merged: Vec<[usize; 3]> = Vec::new();
        for [size, from, to] in dims {
            match merged.last_mut() {
                Some([outer, outer_from, outer_to]) if *outer_from == size * from && *outer_to == size * to => {
                    [*outer, *outer_from, *outer_to] = [*outer * size, from, to];
                }
                _ => merged.push([size, from, to]),
            }
        }
        Self { dims: merged, from: from.name(), to: to.name() }
    }
}

impl Kernel for Copy {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let x = operands[0].unwrap_or(&[]);
        fx_kernels::copy::strided(out, x, &self.dims);
    }

    fn describe(&self) -> String {
        format!("copy {} to {}", self.from, self.to)
    }
}
