//! Tensors one after the other.

use fx_kernels::copy::{MOST_DIMS, concatenate};
use smallvec::SmallVec;

use super::{Kernel, Lowered, Operands, Site, Wanted};
use crate::arg::Arg;
use crate::compile::known::Known;
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, Dims, Tensor};

/// Copies each operand to its place.
struct Concat {
    /// The strides of the result.
    strides: Dims,
    dim: usize,
    parts: SmallVec<[Part; 4]>,
}

struct Part {
    /// How it lies.
    layout: Layout,
    /// The numbers, if they are known.
    known: Option<Tensor>,
}

pub(super) fn cat(site: &Site<'_>) -> Option<Lowered> {
    let items = site.arg(0).as_items()?;
    let ndim = Some(site.shape().len()).filter(|ndim| *ndim <= MOST_DIMS)?;
    let dim = site.attribute::<kind::int>("dim", 0)?;
    let dim = usize::try_from(if dim < 0 { dim + ndim as i64 } else { dim }).ok().filter(|dim| *dim < ndim)?;
    // Images stay as convolutions want them.
    let has_channels_last =
        |item: &Arg<Known>| matches!(item, Arg::Value(Known::Value(layout, _)) if layout.has_channels_last());
    let output = Layout::images(DType::F32, site.shape(), items.iter().any(has_channels_last));
    let (mut parts, mut operands) = (SmallVec::new(), SmallVec::new());
    for item in items {
        let (layout, known) = match item.as_value()? {
            Known::Value(layout, register) => {
                operands.push(Wanted::new(*register, layout.clone()));
                (layout.clone(), None)
            }
            known => known.single().map(|tensor| (Layout::of(&tensor), Some(tensor)))?,
        };
        // An empty tensor of one dimension goes with any others.
        if layout.dtype != DType::F32 || layout.shape.len() != ndim {
            return None;
        }
        parts.push(Part { layout, known });
    }
    if operands.is_empty() {
        return None;
    }
    Some(Lowered::new(Concat { strides: output.strides.clone(), dim, parts }, operands, output))
}

impl Kernel for Concat {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let mut values = operands.iter();
        let mut parts: SmallVec<[_; 16]> = SmallVec::new();
        for Part { layout, known } in &self.parts {
            let x = match known {
                Some(tensor) => tensor.as_slice(),
                None => values.next().copied().flatten(),
            };
            parts.push((x.unwrap_or(&[]), &*layout.strides, &*layout.shape));
        }
        concatenate(out, &self.strides, self.dim, &parts);
    }

    fn describe(&self) -> String {
        format!("cat of {}", self.parts.len())
    }
}
