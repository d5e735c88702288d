//! Transposed convolutions. Where windows lie side by side, each pixel is multiplied with a matrix for each line of the window;
//! where they overlap within lines, they are convolutions with more outputs.

use std::sync::Arc;

use fx_kernels::dense::{ConvShape, PackedLinear};
use fx_kernels::elementwise::Unary;
use fx_kernels::threads::for_each_piece;
use smallvec::smallvec;

use super::conv::{Convs, on_plane, plane};
use super::product::Follow;
use super::{Kernel, Lowered, Operands, Site, Wanted, kept, saved};
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, Dims, Tensor};

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
    side_by_side(site).or_else(|| phases(site))
}

fn side_by_side(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (weight, weight_shape) = site.weight(1)?;
    let [_, _, ref size @ ..] = *input.shape else { return None };
    let [_, _, ref kernel @ ..] = *weight_shape else { return None };
    let ([_, width], window) = (plane(size)?, plane(kernel)?);
    // Windows neither overlap nor leave gaps, and nothing is cut off or added.
    let [stride, padding, added] = steps(site, kernel.len())?;
    let side_by_side = stride == window && padding == [0; 2] && added == [0; 2];
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

/// The convolution that gives the pixels of the output which stand in place of each pixel of the input, as many as a step has, if
/// steps are within lines.
fn phases(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (weight, weight_shape) = site.weight(1)?;
    let [batch, inputs, ref size @ ..] = *input.shape else { return None };
    let [_, outputs, ref kernel @ ..] = *weight_shape else { return None };
    if size.len() != kernel.len() || site.attribute::<kind::int>("groups", 1)? != 1 {
        return None;
    }
    let (size, window, result) = (plane(size)?, plane(kernel)?, plane(&site.shape()[2..])?);
    let [step, padding, _] = steps(site, kernel.len())?;
    // Windows reach over so many steps, which they should fill to half at least, and the output begins in one of them.
    let taps = [0, 1].map(|i| window[i].div_ceil(step[i]));
    if step[0] != 1 || taps[1] * step[1] > 2 * window[1] {
        return None;
    }
    let (skipped, first) = ([0, 1].map(|i| padding[i] / step[i]), [0, 1].map(|i| padding[i] % step[i]));
    let count = [0, 1].map(|i| (result[i] + first[i]).div_ceil(step[i]));
    let (mut before, mut after) = ([0; 2], [0; 2]);
    for i in 0..2 {
        before[i] = (taps[i] - 1).checked_sub(skipped[i])?;
        after[i] = (count[i] + skipped[i]).checked_sub(size[i])?;
    }
    let all = step[0] * step[1];
    let shape = ConvShape {
        inputs,
        outputs: all * outputs,
        kernel: taps,
        stride: [1; 2],
        dilation: [1; 2],
        before,
        after,
        groups: 1,
    };
    let bias = site.optional(2)?.map(|bias| {
        let bias = bias.to_vec::<f32>();
        Tensor::from_vec([all * bias.len()], bias.repeat(all))
    });
    let packed = site.packs.phases(weight, step, shape, batch, size)?;
    let kernel = Convs::one(packed, Follow::new(bias), batch, size);
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    let mut whole = Dims::from_slice(site.shape());
    let ndim = whole.len();
    whole[ndim - 1] = count[1] * step[1];
    let output = Layout::channels_last(DType::F32, &whole);
    let offset = first[1] * output.strides[ndim - 1];
    let part = Layout { shape: Dims::from_slice(site.shape()), ..output.clone() };
    let lowered = Lowered::new(kernel, smallvec![wanted], output);
    Some(if part == lowered.output { lowered } else { Lowered { part: Some((part, offset)), ..lowered } })
}

/// Steps of the windows over so many dimensions, what is cut off on each side, and what is added at the end, if the taps of a window
/// are neighbours.
fn steps(site: &Site<'_>, dims: usize) -> Option<[[usize; 2]; 3]> {
    match dims {
        1 => steps_over::<1>(site),
        _ => steps_over::<2>(site),
    }
}

fn steps_over<const N: usize>(site: &Site<'_>) -> Option<[[usize; 2]; 3]> {
    let attribute =
        |name: &str, default: usize| Some(on_plane(site.attribute::<kind::window<N>>(name, [default; N])?, default));
    let all = [attribute("stride", 1)?, attribute("padding", 0)?, attribute("output_padding", 0)?];
    (attribute("dilation", 1)? == [1; 2]).then_some(all)
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
