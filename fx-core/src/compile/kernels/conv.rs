//! Convolutions with known weights and what follows them; several of them, one after the other, where what lies between
//! would leave the cache.

use std::ops::Range;
use std::sync::Arc;

use fx_kernels::Rounded;
use fx_kernels::dense::{Algorithm, ConvShape, Format, Images, Link, PackedConv, Words, leaves_cache, run_chain};
use fx_kernels::elementwise::Unary;
use smallvec::{SmallVec, smallvec};

use super::product::{Follow, other};
use super::{ByRows, Kernel, Lowered, Operands, Site, Wanted, by, images_of_words, kept, read, saved, written};
use crate::compile::layout::Layout;
use crate::ops::kind::{self, Padding};
use crate::tensor::{DType, numel};

/// A convolution with what follows it.
#[derive(Clone)]
struct Conv {
    packed: Arc<PackedConv>,
    follow: Follow,
    residual: bool,
}

/// Convolutions of images, each of what the one before gives.
pub(in crate::compile) struct Convs {
    convs: SmallVec<[Conv; 1]>,
    /// Whether the input's channels are first.
    planes: bool,
    batch: usize,
    input: [usize; 2],
    words: Words,
}

/// A convolution over two dimensions, or over one, which is that of lines.
pub(super) fn conv(site: &Site<'_>) -> Option<Lowered> {
    let (input, register) = site.value(0)?;
    let (weight, weight_shape) = site.weight(1)?;
    let (shape, batch, [height, width]) = sizes(site, input, &weight_shape)?;
    let output = Layout::channels_last(DType::F32, site.shape());
    let other = other(site, 3, &output)?;
    let (planes, wanted) = reads(input, shape.inputs);
    let wanted = Wanted::new(register, wanted);
    let packed = site.packs.conv(weight, shape, batch, [height, width])?;
    let conv = Conv { packed, follow: Follow::of(site, 2)?, residual: other.is_some() };
    let kernel = Convs { convs: smallvec![conv], planes, batch, input: [height, width], words: Words::default() };
    let operands = [wanted].into_iter().chain(other).collect();
    Some(Lowered::new(kernel, operands, output))
}

/// How images of so many channels are read, and whether the channels are first: a first layer reads images as they come.
pub(super) fn reads(input: &Layout, channels: usize) -> (bool, Layout) {
    let planes = input.is_row_major() && !input.is_channels_last() && channels < 16;
    (planes, if planes { input.clone() } else { Layout::channels_last(DType::F32, &input.shape) })
}

/// The sizes of a convolution with a weight of some shape, of how many images, and how large these are.
pub(super) fn sizes(site: &Site<'_>, input: &Layout, weight: &[usize]) -> Option<(ConvShape, usize, [usize; 2])> {
    let [batch, inputs, ref size @ ..] = *input.shape else { return None };
    let [outputs, _, ref kernel @ ..] = *weight else { return None };
    if size.len() != kernel.len() {
        return None;
    }
    let (input, kernel) = (plane(size)?, plane(kernel)?);
    let [stride, dilation, before, after] = match size {
        [_] => {
            let [stride, dilation, before, after] = window(site, [kernel[1]])?;
            [on_plane(stride, 1), on_plane(dilation, 1), on_plane(before, 0), on_plane(after, 0)]
        }
        _ => window(site, kernel)?,
    };
    let groups = usize::try_from(site.attribute::<kind::int>("groups", 1)?).ok()?;
    Some((ConvShape { inputs, outputs, kernel, stride, dilation, before, after, groups }, batch, input))
}

/// Sizes of a plane, or of a line as one.
pub(super) fn plane(sizes: &[usize]) -> Option<[usize; 2]> {
    match *sizes {
        [width] => Some([1, width]),
        [height, width] => Some([height, width]),
        _ => None,
    }
}

/// Amounts for each dimension of a plane, or for a line as one, which are some number across it.
pub(super) fn on_plane<const N: usize>(amounts: [usize; N], across: usize) -> [usize; 2] {
    let mut all = [across; 2];
    all[2 - N..].copy_from_slice(&amounts);
    all
}

/// Steps, distances of taps and what stands before and after the input, of a window of so many dimensions.
pub(super) fn window<const N: usize>(site: &Site<'_>, kernel: [usize; N]) -> Option<[[usize; N]; 4]> {
    let stride = site.attribute::<kind::window<N>>("stride", [1; N])?;
    let dilation = site.attribute::<kind::window<N>>("dilation", [1; N])?;
    let around = match site.attribute::<kind::margin<N>>("padding", Padding::Explicit([0; N]))? {
        Padding::Explicit(amounts) => amounts.map(|amount| 2 * amount),
        Padding::Same => std::array::from_fn(|i| dilation[i] * (kernel[i] - 1)),
        Padding::Valid => [0; N],
    };
    let beside = |i: usize| site.around.get(i).copied().unwrap_or_default();
    let before = std::array::from_fn(|i| around[i] / 2 + beside(i)[0]);
    let after = std::array::from_fn(|i| around[i].div_ceil(2) + beside(i)[1]);
    Some([stride, dilation, before, after])
}

/// What a convolution's windows are, for a description.
pub(super) fn window_of(shape: &ConvShape) -> String {
    windows(&shape.kernel, &shape.stride, shape.groups)
}

/// The same for windows of any dimensions.
pub(super) fn windows(kernel: &[usize], stride: &[usize], groups: usize) -> String {
    let by = |sizes: &[usize]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
    let stride = match stride {
        [first, rest @ ..] if rest.iter().all(|step| step == first) => match first {
            1 => String::new(),
            step => format!("/{step}"),
        },
        steps => format!("/{}", by(steps)),
    };
    let groups = if groups == 1 { String::new() } else { format!(" of {groups} groups") };
    format!("conv {}{stride}{groups}", by(kernel))
}

/// Whether a convolution of images of some size multiplies each pixel with the same matrix.
pub(super) fn is_of_pixels(shape: &ConvShape, size: [usize; 2]) -> bool {
    shape.kernel == [1, 1] && shape.output(size) == size && shape.groups == 1
}

impl Conv {
    /// What it is, for so many pixels of the output, with operands that may be words.
    fn describe(&self, pixels: usize, words: Words) -> String {
        let (by, kept, from) = (by(self.packed.algorithm(pixels)), kept(self.packed.format()), read(words.input));
        let follow = self.follow.describe(self.residual.then(|| read(words.added)));
        format!("{}{by}{kept}{from}{follow}", window_of(self.packed.shape()))
    }

    /// Whether it may be part of a chain: the tiles of Winograd's algorithm depend on where a band begins, and for each
    /// band of numbers in pieces weights would be split again. Single pixels are
    /// multiplied by the definition there.
    fn may_be_chained(&self) -> bool {
        matches!(self.packed.algorithm(1), Algorithm::Direct | Algorithm::Strassen)
    }
}

impl Convs {
    /// The height and width of the result.
    fn output(&self) -> [usize; 2] {
        self.convs.iter().fold(self.input, |size, conv| conv.packed.shape().output(size))
    }
}

impl Kernel for Convs {
    fn run(&self, out: &mut [f32], operands: &Operands<'_>) {
        let (first, last) = (&self.convs[0].packed, self.convs.len() - 1);
        let inputs = self.words.input_len(first.shape().inputs);
        let data = &operands[0].unwrap_or(&[])[..self.batch * inputs * self.input[0] * self.input[1]];
        let images = match self.planes {
            true => Images::planes(data, self.batch, self.input),
            false => Images::pixels(data, self.batch, self.input, inputs),
        };
        let link = |index: usize| {
            let conv = &self.convs[index];
            let residual = operands.get(1).copied().filter(|_| index == last);
            Link {
                conv: &conv.packed,
                epilogue: conv.follow.epilogue(residual, self.words.added_len(conv.packed.shape().outputs)),
            }
        };
        match last {
            0 => {
                let stride = self.words.output_len(first.shape().outputs);
                first.run_words(out, stride, &images, self.words, &link(0).epilogue);
            }
            _ => run_chain(&(0..=last).map(link).collect::<SmallVec<[_; 4]>>(), out, &images, self.words),
        }
    }

    fn describe(&self) -> String {
        // In a chain a few lines are computed at a time.
        let pixels = if self.convs.len() == 1 { self.batch * numel(&self.output()) } else { 1 };
        let inside = Words { input: None, ..self.words };
        let words = |index: usize| if index == 0 { self.words } else { inside };
        let convs = self.convs.iter().enumerate().map(|(index, conv)| conv.describe(pixels, words(index)));
        format!("{}{}", convs.collect::<Vec<_>>().join(", "), written(self.words.output))
    }

    fn bytes_saved(&self) -> usize {
        self.convs.iter().map(|conv| saved(conv.packed.format(), conv.packed.bytes())).sum()
    }

    fn weights(&self) -> usize {
        self.convs.iter().map(|conv| conv.packed.bytes()).sum()
    }

    fn part(&self, count: usize) -> Option<Arc<dyn Kernel>> {
        let part = || Arc::new(Convs { convs: self.convs.clone(), batch: self.batch / count, ..*self });
        self.batch.is_multiple_of(count).then(|| part() as Arc<dyn Kernel>)
    }

    fn convs(&self) -> Option<&Convs> {
        Some(self)
    }

    fn by_rows(&self, outputs: usize) -> Option<Arc<dyn ByRows>> {
        let ([Conv { packed, .. }], false) = (&self.convs[..], self.planes) else { return None };
        let is_direct = packed.algorithm(self.batch * numel(&self.input)) == Algorithm::Direct;
        let rows = || Arc::new(Self { convs: self.convs.clone(), ..*self });
        let is_of_rows = is_of_pixels(packed.shape(), self.input) && packed.shape().outputs == outputs;
        (is_of_rows && is_direct && self.words.output.is_none()).then(|| rows() as Arc<dyn ByRows>)
    }

    fn followed(&self, function: Unary) -> Option<Arc<dyn Kernel>> {
        let mut convs = self.convs.clone();
        let last = convs.last_mut()?;
        last.follow = last.follow.then(function)?;
        Some(Arc::new(Self { convs, ..*self }))
    }

    fn after(&self, before: &dyn Kernel, operand: usize) -> Option<Arc<dyn Kernel>> {
        /// Bytes of weights that stay in it beside the images: they are read again for each band.
        const LIGHT: usize = 512 * 1024;
        let (before, [conv]) = (before.convs()?, &self.convs[..]) else { return None };
        let previous = before.convs.last()?;
        let pixels = numel(&before.output());
        let convs: SmallVec<[Conv; 1]> = before.convs.iter().chain([conv]).cloned().collect();
        let weights = self.weights() + before.weights();
        let chained = leaves_cache(&previous.packed, &conv.packed, pixels)
            && weights < LIGHT
            && convs.iter().all(Conv::may_be_chained)
            && !previous.residual;
        (chained && operand == 0).then(|| Arc::new(Convs { convs, ..*before }) as Arc<dyn Kernel>)
    }

    fn rounds(&self, operand: usize) -> Option<Rounded> {
        // One of channels on their own takes what it does not round.
        let is_product = self.convs.first()?.packed.format() == Format::Bf16;
        self.takes(operand).filter(|_| operand == 0 && is_product)
    }

    fn takes(&self, operand: usize) -> Option<Rounded> {
        let takes = match operand {
            0 => !self.planes && self.convs.first()?.packed.reads_words(),
            _ => self.convs.last()?.packed.adds_words(Rounded::Pairs),
        };
        takes.then_some(Rounded::Pairs)
    }

    fn is_half(&self, operands: &[bool]) -> bool {
        let [input, added @ ..] = operands else { return false };
        let is_half = |before: bool, conv: &Conv| match conv.packed.format() {
            Format::Bf16 => true,
            _ => before && conv.packed.reads_words(),
        };
        self.convs.iter().fold(*input, is_half) && added.iter().all(|added| *added)
    }

    fn reading_words(&self, operand: usize, rounded: Rounded) -> Option<Arc<dyn Kernel>> {
        let words = if operand == 0 { self.words.reading(rounded) } else { self.words.adding(rounded) };
        Some(Arc::new(Self { words, convs: self.convs.clone(), ..*self }))
    }

    fn writing_words(&self, rounded: Rounded, layout: &Layout) -> Option<(Arc<dyn Kernel>, Layout)> {
        let writes = self.convs.last()?.packed.writes_words(rounded);
        let words = self.words.writing(rounded);
        let kernel = || Arc::new(Self { words, convs: self.convs.clone(), ..*self }) as Arc<dyn Kernel>;
        writes.then(|| (kernel(), images_of_words(layout, rounded)))
    }

    fn overwrites(&self, operand: usize) -> bool {
        let writes_once = self.convs.last().is_some_and(|conv| conv.packed.algorithm(1).writes_once());
        operand == 1 && self.words.output == self.words.added && writes_once
    }
}

/// A convolution of single pixels, each of which is a row.
impl ByRows for Convs {
    fn inputs(&self) -> usize {
        self.convs[0].packed.shape().inputs
    }

    fn run_rows(&self, rows: Range<usize>, out: &mut [f32], operands: &Operands<'_>) {
        let Conv { packed, follow, .. } = &self.convs[0];
        let outputs = packed.shape().outputs;
        let (inputs, added) = (self.words.input_len(packed.shape().inputs), self.words.added_len(outputs));
        let data = &operands[0].unwrap_or(&[])[rows.start * inputs..rows.end * inputs];
        let pixels = Images::pixels(data, 1, [1, rows.len()], inputs);
        let epilogue = follow.epilogue(operands.get(1).copied(), added).at_row(rows.start);
        packed.run_words(out, outputs, &pixels, self.words, &epilogue);
    }
}
