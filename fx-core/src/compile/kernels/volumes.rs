//! Convolutions of volumes, transposed or not, with the channels last.

use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::dense::{
    Algorithm, ConvShape, Format, TransposedShape, TransposedVolumeConv, TransposedVolumeShape, VolumeConv,
    VolumeShape, Words,
};
use fx_kernels::elementwise::Unary;

use super::conv::{window, windows};
use super::product::{Follow, other};
use super::{Kernel, Lowered, Operands, Site, Wanted, by, images_of_words, kept, read, saved, written};
use crate::compile::layout::Layout;
use crate::ops::kind;
use crate::tensor::{DType, numel};

/// A convolution of volumes with what follows it.
#[derive(Clone)]
struct Conv {
    packed: Packed,
    follow: Follow,
    residual: bool,
    batch: usize,
    input: [usize; 3],
    words: Words,
}

#[derive(Clone)]
enum Packed {
    Plain(Arc<VolumeConv>),
    Transposed(Arc<TransposedVolumeConv>),
}

/// The height and width of three sizes.
fn of_frame([_, height, width]: [usize; 3]) -> [usize; 2] {
    [height, width]
}

pub(super) fn conv(site: &Site<'_>) -> Option<Lowered> {
    let (input, _) = site.value(0)?;
    let (weight, weight_shape) = site.weight(1)?;
    let (shape, batch, size) = sizes(site, input, &weight_shape)?;
    let packed = Packed::Plain(site.packs.volumes(weight, shape, batch, size)?);
    lowered(site, packed)
}

/// The sizes of a convolution with a weight of some shape, of how many volumes, and how large these are.
pub(super) fn sizes(site: &Site<'_>, input: &Layout, weight: &[usize]) -> Option<(VolumeShape, usize, [usize; 3])> {
    let [batch, inputs, depth, height, width] = *input.shape else { return None };
    let [outputs, _, kd, kh, kw] = *weight else { return None };
    let [stride, dilation, before, after] = window(site, [kd, kh, kw])?;
    let frame = ConvShape {
        inputs,
        outputs,
        kernel: [kh, kw],
        stride: of_frame(stride),
        dilation: of_frame(dilation),
        before: of_frame(before),
        after: of_frame(after),
        groups: usize::try_from(site.attribute::<kind::int>("groups", 1)?).ok()?,
    };
    let ([stride, ..], [dilation, ..], [before, ..], [after, ..]) = (stride, dilation, before, after);
    Some((VolumeShape { frame, depth: kd, stride, dilation, before, after }, batch, [depth, height, width]))
}

pub(super) fn conv_transpose(site: &Site<'_>) -> Option<Lowered> {
    let (weight, weight_shape) = site.weight(1)?;
    let [inputs, outputs, kd, kh, kw] = *weight_shape else { return None };
    let attribute = |name: &str, default: usize| site.attribute::<kind::window<3>>(name, [default; 3]);
    if attribute("dilation", 1)? != [1; 3] || site.attribute::<kind::int>("groups", 1)? != 1 {
        return None;
    }
    let (stride, padding, added) = (attribute("stride", 1)?, attribute("padding", 0)?, attribute("output_padding", 0)?);
    let frame = TransposedShape {
        inputs,
        outputs,
        kernel: [kh, kw],
        stride: of_frame(stride),
        padding: of_frame(padding),
        output_padding: of_frame(added),
    };
    let ([stride, ..], [padding, ..], [output_padding, ..]) = (stride, padding, added);
    let shape = TransposedVolumeShape { frame, depth: kd, stride, padding, output_padding };
    if !shape.fits() {
        return None;
    }
    lowered(site, Packed::Transposed(site.packs.transposed_volumes(weight, shape)?))
}

fn lowered(site: &Site<'_>, packed: Packed) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let [batch, _, depth, height, width] = *input.shape else { return None };
    let output = Layout::channels_last(DType::F32, site.shape());
    let other = match packed {
        Packed::Plain(_) => other(site, 3, &output)?,
        Packed::Transposed(_) => None,
    };
    let (residual, input) = (other.is_some(), Layout::channels_last(DType::F32, &input.shape));
    let size = [depth, height, width];
    let kernel = Conv { packed, follow: Follow::of(site, 2)?, residual, batch, input: size, words: Words::default() };
    Some(Lowered::new(kernel, [Wanted::new(register, input)].into_iter().chain(other).collect(), output))
}

/// What a convolution's windows are, for a description.
pub(super) fn window_of(shape: &VolumeShape) -> String {
    let VolumeShape { frame, depth, stride, .. } = *shape;
    let ([height, width], [down, across]) = (frame.kernel, frame.stride);
    windows(&[depth, height, width], &[stride, down, across], frame.groups)
}

impl Packed {
    /// The algorithm by which frames with so many pixels of the output are computed.
    fn algorithm(&self, pixels: usize) -> Algorithm {
        match self {
            Self::Plain(conv) => conv.algorithm(pixels),
            Self::Transposed(_) => Algorithm::Direct,
        }
    }

    fn format(&self) -> Format {
        match self {
            Self::Plain(conv) => conv.format(),
            Self::Transposed(conv) => conv.format(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Plain(conv) => conv.bytes(),
            Self::Transposed(conv) => conv.bytes(),
        }
    }

    /// What its windows are.
    fn window(&self) -> String {
        match self {
            Self::Plain(conv) => window_of(conv.shape()),
            Self::Transposed(conv) => {
                let TransposedVolumeShape { frame: TransposedShape { kernel: [height, width], .. }, depth, .. } =
                    *conv.shape();
                format!("conv transpose {depth}x{height}x{width}")
            }
        }
    }
}

impl Kernel for Conv {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let (inputs, outputs) = match &self.packed {
            Packed::Plain(conv) => (conv.shape().frame.inputs, conv.shape().frame.outputs),
            Packed::Transposed(conv) => (conv.shape().frame.inputs, conv.shape().frame.outputs),
        };
        let data = &operands[0].unwrap_or(&[])[..self.batch * numel(&self.input) * self.words.input_len(inputs)];
        let residual = operands.get(1).copied();
        let epilogue = self.follow.epilogue(residual, self.words.added_len(outputs));
        match &self.packed {
            Packed::Plain(conv) => conv.run_words(out, data, self.batch, self.input, self.words, &epilogue),
            Packed::Transposed(conv) => conv.run_words(out, data, self.batch, self.input, self.words, &epilogue),
        }
    }

    fn describe(&self) -> String {
        let pixels = match &self.packed {
            Packed::Plain(conv) => self.batch * numel(&conv.shape().output(self.input)[1..]),
            Packed::Transposed(_) => 1,
        };
        let (by, kept) = (by(self.packed.algorithm(pixels)), kept(self.packed.format()));
        let (follow, from, to) = (
            self.follow.describe(self.residual.then(|| read(self.words.added))),
            read(self.words.input),
            written(self.words.output),
        );
        format!("{}{by}{kept}{from}{follow}{to}", self.packed.window())
    }

    fn bytes_saved(&self) -> usize {
        saved(self.packed.format(), self.packed.bytes())
    }

    fn weights(&self) -> usize {
        self.packed.bytes()
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = || Arc::new(Self { batch: self.batch / count, ..self.clone() });
        self.batch.is_multiple_of(count).then(|| part() as Arc<dyn Kernel>)
    }

    fn followed(&self, function: Unary) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(Self { follow: self.follow.then(function)?, ..self.clone() }))
    }

    fn is_half(&self, operands: &[bool]) -> bool {
        let [input, added @ ..] = operands else { return false };
        let is_half = self.packed.format() == Format::Bf16 || *input && self.takes(0).is_some();
        is_half && added.iter().all(|added| *added)
    }

    fn rounds(&self, operand: usize) -> Option<Rounded> {
        // One of channels on their own takes what it does not round.
        self.takes(operand).filter(|_| operand == 0 && self.packed.format() == Format::Bf16)
    }

    fn takes(&self, operand: usize) -> Option<Rounded> {
        let takes = match &self.packed {
            Packed::Plain(conv) if operand == 0 => conv.reads_words(),
            Packed::Plain(conv) => conv.adds_words(Rounded::Pairs),
            Packed::Transposed(conv) => operand == 0 && conv.reads_words(),
        };
        takes.then_some(Rounded::Pairs)
    }

    fn reading_words(&self, operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        let words = if operand == 0 { self.words.reading(rounded) } else { self.words.adding(rounded) };
        Some(Arc::new(Self { words, ..self.clone() }))
    }

    fn overwrites(&self, operand: usize) -> bool {
        operand == 1 && self.words.output == self.words.added && self.packed.algorithm(1).writes_once()
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let writes = match &self.packed {
            Packed::Plain(conv) => conv.writes_words(rounded),
            Packed::Transposed(conv) => conv.writes_words(rounded),
        };
        let kernel = || Arc::new(Self { words: self.words.writing(rounded), ..self.clone() });
        writes.then(|| (kernel() as Arc<dyn Kernel>, images_of_words(layout, rounded)))
    }
}
