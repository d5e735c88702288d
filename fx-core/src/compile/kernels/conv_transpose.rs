//! Transposed convolutions whose windows lie side by side: each pixel is multiplied with a matrix for each line of the window.

use std::sync::Arc;

use fx_kernels::dense::PackedLinear;
use fx_kernels::elementwise::Unary;
use fx_kernels::threads::for_each_piece;
use smallvec::smallvec;

use super::conv::{on_plane, plane};
use super::product::Follow;
use super::{Kernel, Lowered, Operands, Site, Wanted, kept, saved};
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, Tensor};

#[derive(Clone)]
struct ConvTranspose {
    /// For each line of the window the weights of its outputs, pixel by pixel.
    lines: Arc<Vec<PackedLinear>>,
    follow: Follow,
    /// The width of the window.
    window: usize,
    /// The pixels of a line of the input.
    width: usize,
}

pub(super) fn conv_transpose(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (weight, weight_shape) = site.weight(1)?;
    let [_, _, ref size @ ..] = *input.shape else { return None };
    let [_, _, ref kernel @ ..] = *weight_shape else { return None };
    let ([_, width], window) = (plane(size)?, plane(kernel)?);
    let side_by_side = match kernel {
        [_] => is_side_by_side::<1>(site, window)?,
        _ => is_side_by_side::<2>(site, window)?,
    };
    if size.len() != kernel.len() || !side_by_side || site.attribute::<kind::int>("groups", 1)? != 1 {
        return None;
    }
    let lines = site.packs.conv_transpose(weight, window)?;
    // A bias for each output of each pixel of a window's line.
    let bias = site.optional(2)?.map(|bias| {
        let bias = bias.to_vec::<f32>();
        Tensor::from_vec([window[1] * bias.len()], bias.repeat(window[1]))
    });
    let kernel = ConvTranspose { lines, follow: Follow::new(bias), window: window[1], width };
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    Some(Lowered::new(kernel, smallvec![wanted], Layout::channels_last(DType::F32, site.shape())))
}

/// Whether windows over so many dimensions neither overlap nor leave gaps, and nothing is cut off or added.
fn is_side_by_side<const N: usize>(site: &Site<'_>, window: [usize; 2]) -> Option<bool> {
    let attribute =
        |name: &str, default: usize| Some(on_plane(site.attribute::<kind::window<N>>(name, [default; N])?, default));
    Some(
        attribute("stride", 1)? == window
            && attribute("dilation", 1)? == [1; 2]
            && attribute("padding", 0)? == [0; 2]
            && attribute("output_padding", 0)? == [0; 2],
    )
}

impl Kernel for ConvTranspose {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let Some(first) = self.lines.first() else { return };
        let (x, inputs, columns) = (operands[0].unwrap_or(&[]), first.inputs(), first.outputs());
        let epilogue = self.follow.epilogue(None, columns);
        let line = self.width * columns;
        let work = 2 * inputs * out.len();
        for_each_piece(out, self.lines.len() * line, work, |index, out| {
            let x = &x[index * self.width * inputs..(index + 1) * self.width * inputs];
            for (out, packed) in out.chunks_exact_mut(line).zip(&*self.lines) {
                packed.run(out, columns, x, inputs, self.width, &epilogue);
            }
        });
    }

    fn followed(&self, function: Unary) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { follow: self.follow.then(function)?, ..self.clone() }))
    }

    fn part(&self, _: usize) -> Option<Arc<dyn Kernel>> {
        // It goes by lines, however many images they are of.
        Some(Arc::new(self.clone()))
    }

    fn weights(&self) -> usize {
        self.lines.iter().map(PackedLinear::bytes).sum()
    }

    fn bytes_saved(&self) -> usize {
        self.lines.iter().map(|packed| saved(packed.format(), packed.bytes())).sum()
    }

    fn describe(&self) -> String {
        let kept = self.lines.first().map_or("", |packed| kept(packed.format()));
        format!("conv transpose {}x{}{kept}{}", self.lines.len(), self.window, self.follow.describe(false))
    }
}
