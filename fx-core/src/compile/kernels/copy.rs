//! Copies from one layout into another.

use std::sync::Arc;

use super::{Kernel, Operands};
use crate::compile::layout::Layout;

/// Copies a value into another layout of its shape.
pub(in crate::compile) struct Copy {
    from: Layout,
    to: Layout,
}

impl Copy {
    pub(in crate::compile) fn new(from: &Layout, to: &Layout) -> Self {
        Self { from: from.clone(), to: to.clone() }
    }
}

impl Kernel for Copy {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let x = operands[0].unwrap_or(&[]);
        fx_kernels::copy::copy(out, &self.to.strides, x, &self.from.strides, &self.to.shape);
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { from: self.from.part(count)?, to: self.to.part(count)? }))
    }

    fn describe(&self) -> String {
        format!("copy {} to {}", self.from.name(), self.to.name())
    }
}
