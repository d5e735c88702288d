//! Tensors one after the other.

use fx_kernels::copy::{MOST_DIMS, copy};
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
    pieces: SmallVec<[Piece; 4]>,
}

struct Piece {
    /// How it lies.
    layout: Layout,
    /// Where it begins in the result.
    start: usize,
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
    let (mut pieces, mut operands, mut place) = (SmallVec::new(), SmallVec::new(), 0);
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
        let start = place * output.strides[dim];
        place += layout.shape[dim];
        pieces.push(Piece { layout, start, known });
    }
    if operands.is_empty() {
        return None;
    }
    Some(Lowered::new(Concat { strides: output.strides.clone(), pieces }, operands, output))
}

impl Kernel for Concat {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let mut values = operands.iter();
        for Piece { layout, start, known } in &self.pieces {
            let x = match known {
                Some(tensor) => tensor.as_slice(),
                None => values.next().copied().flatten(),
            };
            if layout.numel() > 0 {
                copy(&mut out[*start..], &self.strides, x.unwrap_or(&[]), &layout.strides, &layout.shape);
            }
        }
    }

    fn describe(&self) -> String {
        format!("cat of {}", self.pieces.len())
    }
}
