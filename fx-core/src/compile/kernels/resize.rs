//! Images and lines made larger, each element several times.

use fx_kernels::copy::copy;
use smallvec::smallvec;

use super::{Kernel, Lowered, Operands, Site, Wanted};
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, Dims};

/// Copies every element to a block of the result.
struct Nearest {
    /// For each spatial dimension one of blocks and one within a block.
    shape: Dims,
    from: Dims,
    to: Dims,
    factors: Dims,
}

/// Resampling to the nearest element, by whole factors.
pub(super) fn nearest(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let mode = site.attribute::<kind::string>("mode", "nearest".into())?;
    let given = site.attribute::<kind::opt_floats>("scale_factor", None)?;
    if mode != "nearest" || input.shape.len() < 3 {
        return None;
    }
    let output = Layout::images(DType::F32, site.shape(), input.has_channels_last());
    let mut kernel = Nearest {
        shape: Dims::from_slice(&input.shape[..2]),
        from: Dims::from_slice(&input.strides[..2]),
        to: Dims::from_slice(&output.strides[..2]),
        factors: Dims::new(),
    };
    for dim in 2..input.shape.len() {
        let factor = output.shape[dim] / input.shape[dim];
        let scale = given.as_ref().map(|given| given[if given.len() == 1 { 0 } else { dim - 2 }]);
        if factor * input.shape[dim] != output.shape[dim] || scale.is_some_and(|scale| scale != factor as f64) {
            return None;
        }
        kernel.factors.push(factor);
        kernel.shape.extend([input.shape[dim], factor]);
        kernel.from.extend([input.strides[dim], 0]);
        kernel.to.extend([factor * output.strides[dim], output.strides[dim]]);
    }
    Some(Lowered::new(kernel, smallvec![Wanted::new(register, input.clone())], output))
}

impl Kernel for Nearest {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        copy(out, &self.to, operands[0].unwrap_or(&[]), &self.from, &self.shape);
    }

    fn describe(&self) -> String {
        let factors: Vec<String> = self.factors.iter().map(ToString::to_string).collect();
        format!("nearest, {} times as large", factors.join("x"))
    }
}
