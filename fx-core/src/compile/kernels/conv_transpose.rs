//! Transposed convolutions. Those within lines are convolutions with more outputs, whose pixels are those of the result.

use std::sync::Arc;

use fx_kernels::dense::{ConvShape, Images, TransposedConv, TransposedShape};
use fx_kernels::elementwise::Unary;
use smallvec::smallvec;

use super::conv::{Convs, on_plane, plane};
use super::product::Follow;
use super::quantized::{self, Range};
use super::{Kernel, Known, Lowered, Operands, Site, Wanted, kept, saved};
use crate::compile::layout::Layout;
use crate::ops::{self, kind};
use crate::tensor::{DType, Dims, Tensor};

#[derive(Clone)]
struct Transposed {
    conv: Arc<TransposedConv>,
    /// What the input is rounded to, if it is.
    range: Option<Range>,
    follow: Follow,
    batch: usize,
    size: [usize; 2],
}

/// A weight that is known.
enum Weight<'a> {
    Numbers(&'a Known),
    /// In i8, with its scales, and what the input is rounded to.
    Rounded([&'a Known; 2], Range),
}

pub(super) fn conv_transpose(site: &Site<'_>) -> Option<Lowered> {
    phases(site).or_else(|| transposed(site))
}

/// The weight, its shape, and the bias.
fn operands<'a>(site: &Site<'a>) -> Option<(Weight<'a>, Dims, Option<Vec<f32>>)> {
    let (weight, shape, bias) = if [ops::qconv_transpose1d, ops::qconv_transpose2d].contains(&site.function) {
        let (operands, shape) = quantized::weight(site)?;
        (Weight::Rounded(operands, Range::at(site)?), shape, 3)
    } else {
        let (weight, shape) = site.weight(1)?;
        (Weight::Numbers(weight), shape, 2)
    };
    Some((weight, shape, site.optional(bias)?.map(|bias| bias.to_vec())))
}

/// As a convolution that gives the pixels of the output which stand in place of each pixel of the input, as many as a step has,
/// if steps are within lines.
fn phases(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (Weight::Numbers(weight), weight_shape, bias) = operands(site)? else { return None };
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
    let follow = repeated(bias, all);
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    let mut whole = Dims::from_slice(site.shape());
    let ndim = whole.len();
    whole[ndim - 1] = count[1] * step[1];
    let output = Layout::channels_last(DType::F32, &whole);
    let offset = first[1] * output.strides[ndim - 1];
    let part = Layout { shape: Dims::from_slice(site.shape()), ..output.clone() };
    let packed = site.packs.phases(weight, step, shape, batch, size)?;
    let lowered = Lowered::new(Convs::one(packed, follow, batch, size), smallvec![wanted], output);
    Some(if part == lowered.output { lowered } else { Lowered { part: Some((part, offset)), ..lowered } })
}

fn transposed(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (weight, weight_shape, bias) = operands(site)?;
    let [batch, inputs, ref size @ ..] = *input.shape else { return None };
    let [_, outputs, ref kernel @ ..] = *weight_shape else { return None };
    if size.len() != kernel.len() || site.attribute::<kind::int>("groups", 1)? != 1 {
        return None;
    }
    let [stride, padding, output_padding] = steps(site, kernel.len())?;
    let shape = TransposedShape { inputs, outputs, kernel: plane(kernel)?, stride, padding, output_padding };
    let size = plane(size)?;
    if !shape.is_covered() || shape.output(size) != plane(&site.shape()[2..])? {
        return None;
    }
    let (conv, range) = match weight {
        Weight::Numbers(weight) => (site.packs.transposed(weight, shape)?, None),
        Weight::Rounded(operands, range) => {
            (site.packs.quantized_transposed(operands, range.bits(), shape)?, Some(range))
        }
    };
    let kernel = Transposed { conv, range, follow: repeated(bias, 1), batch, size };
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    Some(Lowered::new(kernel, smallvec![wanted], Layout::channels_last(DType::F32, site.shape())))
}

/// A bias that follows each of so many pixels' outputs.
fn repeated(bias: Option<Vec<f32>>, pixels: usize) -> Follow {
    Follow::new(bias.map(|bias| Tensor::from_vec([pixels * bias.len()], bias.repeat(pixels))))
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

impl Kernel for Transposed {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let shape = self.conv.shape();
        let x = &operands[0].unwrap_or(&[])[..self.batch * self.size[0] * self.size[1] * shape.inputs];
        let (images, range) =
            (Images::pixels(x, self.batch, self.size, shape.inputs), self.range.map(|range| range.of(x)));
        self.conv.run(out, &images, range, &self.follow.epilogue(None, shape.outputs));
    }

    fn followed(&self, function: Unary) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { follow: self.follow.then(function)?, ..self.clone() }))
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let is_even = self.batch.is_multiple_of(count) && self.range.is_none_or(Range::is_known);
        is_even.then(|| Arc::new(Self { batch: self.batch / count, ..self.clone() }) as _)
    }

    fn weights(&self) -> usize {
        self.conv.bytes()
    }

    fn bytes_saved(&self) -> usize {
        saved(self.conv.format(), self.conv.bytes())
    }

    fn describe(&self) -> String {
        let ([height, width], kept) = (self.conv.shape().kernel, kept(self.conv.format()));
        let rounded = if self.range.is_some() { " of rounded" } else { "" };
        format!("conv transpose {height}x{width}{kept}{rounded}{}", self.follow.describe(false))
    }
}
