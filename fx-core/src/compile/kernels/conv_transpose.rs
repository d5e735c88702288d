//! Transposed convolutions with known weights and what follows them.

use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::dense::{Format, Images, TransposedConv, TransposedShape, Words};
use fx_kernels::elementwise::Unary;
use smallvec::smallvec;

use super::conv::{on_plane, plane};
use super::product::Follow;
use super::quantized::{self, Range};
use super::{Kernel, Known, Lowered, Operands, Site, Wanted, images_of_words, kept, read, saved, written};
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
    words: Words,
}

/// A weight that is known.
enum Weight<'a> {
    Numbers(&'a Known),
    /// In i8, with its scales, and what the input is rounded to.
    Rounded([&'a Known; 2], Range),
}

/// The weight, its shape, and the bias.
fn operands<'a>(site: &Site<'a>) -> Option<(Weight<'a>, Dims, Option<Tensor>)> {
    let (weight, shape, bias) = if [ops::qconv_transpose1d, ops::qconv_transpose2d].contains(&site.function) {
        let (operands, shape) = quantized::weight(site)?;
        (Weight::Rounded(operands, Range::at(site)?), shape, 3)
    } else {
        let (weight, shape) = site.weight(1)?;
        (Weight::Numbers(weight), shape, 2)
    };
    Some((weight, shape, site.optional(bias)?))
}

pub(super) fn conv_transpose(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (weight, weight_shape, bias) = operands(site)?;
    let [batch, inputs, ref size @ ..] = *input.shape else { return None };
    let [_, outputs, ref kernel @ ..] = *weight_shape else { return None };
    if size.len() != kernel.len() || site.attribute::<kind::int>("groups", 1)? != 1 {
        return None;
    }
    let [stride, padding, output_padding] = steps(site, kernel.len())?;
    let (size, kernel) = (plane(size)?, plane(kernel)?);
    let shape = TransposedShape { inputs, outputs, kernel, stride, padding, output_padding }.for_input(size);
    if !shape.fits() || shape.output(size) != plane(&site.shape()[2..])? {
        return None;
    }
    let (conv, range) = match weight {
        Weight::Numbers(weight) => (site.packs.transposed(weight, shape)?, None),
        Weight::Rounded(operands, range) => {
            (site.packs.quantized_transposed(operands, range.bits(), shape)?, Some(range))
        }
    };
    let kernel = Transposed { conv, range, follow: Follow::new(bias), batch, size, words: Words::default() };
    let wanted = Wanted::new(register, Layout::channels_last(DType::F32, &input.shape));
    Some(Lowered::new(kernel, smallvec![wanted], Layout::channels_last(DType::F32, site.shape())))
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
        let (shape, words) = (self.conv.shape(), self.words);
        let inputs = words.input_len(shape.inputs);
        let x = &operands[0].unwrap_or(&[])[..self.batch * self.size[0] * self.size[1] * inputs];
        let (images, range) = (Images::pixels(x, self.batch, self.size, inputs), self.range.map(|range| range.of(x)));
        self.conv.run_words(out, &images, range, words, &self.follow.epilogue(None, shape.outputs));
    }

    fn is_half(&self, _operands: &[bool]) -> bool {
        self.range.is_none() && self.conv.format() == Format::Bf16
    }

    fn rounds(&self, _operand: usize) -> Option<Rounded> {
        let rounded = match self.range {
            Some(range) => range.rounded()?,
            None => Rounded::Pairs,
        };
        self.conv.reads_words().then_some(rounded)
    }

    fn reading_words(&self, _operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { words: self.words.reading(rounded), ..self.clone() }))
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let kernel = || Arc::new(Self { words: self.words.writing(rounded), ..self.clone() });
        self.conv.writes_words(rounded).then(|| (kernel() as Arc<dyn Kernel>, images_of_words(layout, rounded)))
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
        let from =
            if self.range.is_some() && self.words.input.is_none() { " of rounded" } else { read(self.words.input) };
        let (follow, to) = (self.follow.describe(None), written(self.words.output));
        format!("conv transpose {height}x{width}{kept}{from}{follow}{to}")
    }
}
