//! Convolutions of images with the channels last.

use std::ops::Range;

use smallvec::SmallVec;

use super::algorithm::Algorithm;
use super::depthwise::{Depthwise, TapWeights};
use super::epilogue::Epilogue;
use super::few::Few;
use super::format::{Format, Packing};
use super::grouped::{Grouped, Job};
use super::images::{Images, Layout};
use super::left::{Axis, Inside, Left, Windows};
use super::padded::PaddedConv;
use super::panels::Panels;
use super::product::{Product, Quantized, Written};
use super::shape::ConvShape;
use super::two_pixels::{self, TwoPixels};
use super::volumes::VolumeShape;
use super::weight::Weight;
use super::winograd::Winograd;
use super::words::Words;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::Level;

/// The weights of a convolution, packed.
///
/// ```
/// use fx_kernels::dense::{ConvShape, Epilogue, Images, PackedConv};
///
/// // The sum of each 2 by 2 square of an image with one channel.
/// let shape = ConvShape { kernel: [2, 2], ..ConvShape::pointwise(1, 1) };
/// let conv = PackedConv::new(&[1.0; 4], shape);
/// let image = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let mut out = [0.0; 2];
/// conv.run(&mut out, 1, &Images::pixels(&image, 1, [2, 3], 1), &Epilogue::default());
/// assert_eq!(out, [12.0, 16.0]);
/// ```
#[derive(Debug)]
pub struct PackedConv {
    shape: ConvShape,
    level: Level,
    /// What was asked for.
    algorithm: Algorithm,
    weights: Weights,
    zeros: Vec<f32>,
}

/// Packed weights, by the way that the convolution is computed.
#[derive(Debug)]
enum Weights {
    /// A product of the windows with a matrix for each group.
    Groups(Panels),
    /// A product of windows of few channels, which are rounded.
    Padded(PaddedConv),
    /// A number for each tap and channel.
    Depthwise(TapWeights),
    /// Vectors of channels for each of a few outputs.
    Few(Few),
    /// Vectors that belong to several groups.
    Joined(Grouped),
    /// Transformed.
    Winograd(Winograd),
    /// Of two pixels at once.
    TwoPixels(Box<TwoPixels<PackedConv>>),
}

/// Which lines of an image are there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// The first one's number in the image.
    pub(crate) first: usize,
    /// The lines that the image has.
    pub(crate) height: usize,
}

impl PackedConv {
    /// Packs a weight in PyTorch's layout: outputs, inputs of a group, height, width.
    ///
    /// # Panics
    /// If the weight has another length, or the groups do not divide the channels.
    pub fn new(weight: &[f32], shape: ConvShape) -> Self {
        Self::with(Weight::Numbers(weight), shape, Algorithm::Direct, Format::F32)
    }

    /// As [`new`](Self::new), for an algorithm; one that the shape or the weight is not made for gives way to the direct
    /// one. The direct algorithm's weights are kept in a format, if each channel is not on its own and there is an even
    /// number of them, more than 16 where windows have several pixels. Windows of fewer are kept in bf16 where the processor has an
    /// instruction for it, unless they have too few taps and outputs to be faster. Those of up to four outputs are in f32 where that is
    /// faster.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn with(weight: Weight<'_>, shape: ConvShape, algorithm: Algorithm, format: Format) -> Self {
        Self::at(Level::detect(), weight, shape, algorithm, format)
    }

    /// As [`with`](Self::with), for instructions of the given level.
    ///
    /// # Panics
    /// If the processor does not have the level.
    pub fn at(level: Level, weight: Weight<'_>, shape: ConvShape, algorithm: Algorithm, format: Format) -> Self {
        let ConvShape { inputs, outputs, .. } = shape;
        let (channels, taps) = shape.row();
        let step = channels * taps;
        weight.check(outputs, step);
        if Few::fits(&shape, algorithm, format) {
            let weights = Weights::Few(Few::new(weight, &shape));
            return Self { shape, level, algorithm, weights, zeros: vec![0.0; inputs] };
        }
        let all = VolumeShape::of_images(shape);
        if algorithm == Algorithm::TwoPixels && two_pixels::fits(level, &all, format) {
            let two = TwoPixels::new(weight, &all, |weight, VolumeShape { frame, .. }| {
                Self::at(level, weight, frame, Algorithm::Direct, format)
            });
            return Self { shape, level, algorithm, weights: Weights::TwoPixels(two), zeros: Vec::new() };
        }
        let weights = if let Some(winograd) = Winograd::of_images(level, weight, algorithm, &shape) {
            Weights::Winograd(winograd)
        } else if let Some(packing) = all.packing(level, format, |is_such| weight.all(outputs, step, is_such)) {
            return Self { algorithm, ..Self::packed((level, packing), weight, shape) };
        } else if shape.is_depthwise() {
            Weights::Depthwise(TapWeights::new(weight, inputs, step))
        } else {
            match Grouped::new(level, weight, &shape, all.format(level, format)) {
                Some(grouped) => Weights::Joined(grouped),
                None => Weights::Padded(PaddedConv::new((level, Packing::Pairs), weight, all)),
            }
        };
        Self { shape, level, algorithm, weights, zeros: vec![0.0; inputs] }
    }

    /// Packs a weight in such words, for products of windows where they lie.
    pub(crate) fn packed(words: (Level, Packing), weight: Weight<'_>, shape: ConvShape) -> Self {
        let (channels, taps) = shape.row();
        weight.check(shape.outputs, channels * taps);
        let weights = Weights::Groups(VolumeShape::of_images(shape).panels(words, weight));
        Self { shape, level: words.0, algorithm: Algorithm::Direct, weights, zeros: vec![0.0; shape.inputs] }
    }

    /// The algorithm by which so many pixels of the output are computed.
    pub fn algorithm(&self, pixels: usize) -> Algorithm {
        match &self.weights {
            Weights::Winograd(winograd) => winograd.algorithm(),
            Weights::Groups(panels) if self.shape.is_pointwise() => self.algorithm.of_rows(pixels, panels),
            Weights::Groups(panels) => self.algorithm.of_windows(panels),
            Weights::Padded(_) | Weights::Depthwise(_) | Weights::Few(_) | Weights::Joined(_) => Algorithm::Direct,
            Weights::TwoPixels(_) => Algorithm::TwoPixels,
        }
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        match &self.weights {
            Weights::Groups(panels) => panels.packing().format(),
            Weights::Padded(_) => Format::Bf16,
            Weights::Joined(grouped) => grouped.packing().format(),
            Weights::Depthwise(_) | Weights::Few(_) | Weights::Winograd(_) => Format::F32,
            Weights::TwoPixels(two) => two.wide.format(),
        }
    }

    /// What the words of the weights are, if windows are multiplied where they lie.
    pub(crate) fn packing(&self) -> Option<Packing> {
        match &self.weights {
            Weights::Groups(panels) => Some(panels.packing()),
            Weights::Padded(_)
            | Weights::Depthwise(_)
            | Weights::Few(_)
            | Weights::Joined(_)
            | Weights::Winograd(_)
            | Weights::TwoPixels(_) => None,
        }
    }

    /// The level whose vectors they are packed for.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// The sizes.
    pub fn shape(&self) -> &ConvShape {
        &self.shape
    }

    /// The products for each pixel of the output, by the definition.
    pub(crate) fn products(&self) -> usize {
        let ConvShape { inputs, outputs, kernel, groups, .. } = self.shape;
        inputs / groups * outputs * kernel[0] * kernel[1]
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        match &self.weights {
            Weights::Groups(panels) => panels.bytes(),
            Weights::Padded(padded) => padded.bytes(),
            Weights::Depthwise(weights) => weights.bytes(),
            Weights::Few(few) => few.bytes(),
            Weights::Joined(grouped) => grouped.bytes(),
            Weights::Winograd(winograd) => winograd.bytes(),
            Weights::TwoPixels(two) => two.wide.bytes() + two.plain.bytes(),
        }
    }

    /// Applies the convolution to images; the output's channels are last, its pixels `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub fn run(&self, out: &mut [f32], stride: usize, images: &Images<'_>, epilogue: &Epilogue<'_>) {
        self.compute(out, stride, images, epilogue, Written::default());
    }

    /// As [`run`](Self::run), with operands that may be words; their distances are in words too.
    ///
    /// # Panics
    /// As there, or if an operand [cannot](Self::reads_words) [be](Self::adds_words) [words](Self::writes_words).
    pub fn run_words(
        &self,
        out: &mut [f32],
        stride: usize,
        images: &Images<'_>,
        words: Words,
        epilogue: &Epilogue<'_>,
    ) {
        words.check(self.reads_words(), |added| self.adds_words(added), |rounded| self.writes_words(rounded));
        self.compute(out, stride, images, epilogue, words.written(None));
    }

    /// Whether the images may be [words](Words), with the channels last: of pairs of bf16.
    pub fn reads_words(&self) -> bool {
        self.words() == Packing::Pairs
    }

    /// What words the images may be.
    fn words(&self) -> Packing {
        match &self.weights {
            Weights::Groups(panels) => panels.packing(),
            Weights::Joined(grouped) => grouped.packing(),
            Weights::Depthwise(_) if self.has_words(Rounded::Pairs) => Packing::Pairs,
            Weights::TwoPixels(two) if two.wide.words() == two.plain.words() => two.plain.words(),
            Weights::TwoPixels(_) => Packing::Single,
            Weights::Padded(_) | Weights::Depthwise(_) | Weights::Few(_) | Weights::Winograd(_) => Packing::Single,
        }
    }

    /// Whether the residual may be words of what is rounded so: of pairs of bf16.
    pub fn adds_words(&self, rounded: Rounded) -> bool {
        let columns = self.shape.outputs / self.shape.groups;
        rounded == Rounded::Pairs && self.packing() == Some(Packing::Pairs) && columns.is_multiple_of(2)
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        let writes = match &self.weights {
            // Strassen's algorithm, for weights in f32, writes numbers.
            Weights::Groups(panels) => panels.packing() != Packing::Single,
            Weights::Padded(_) => true,
            Weights::Joined(grouped) if grouped.packing() == Packing::Pairs => rounded == Rounded::Pairs,
            Weights::Depthwise(_) => return self.has_words(rounded),
            Weights::TwoPixels(two) => {
                let writes = |conv: &Self| rounded == Rounded::Pairs && conv.writes_words(rounded);
                return writes(&two.wide) && writes(&two.plain);
            }
            Weights::Few(_) | Weights::Joined(_) | Weights::Winograd(_) => false,
        };
        let columns = self.shape.outputs / self.shape.groups;
        writes && rounded.is_fast(self.level) && columns.is_multiple_of(rounded.numbers())
    }

    /// Whether the channels may be words of what is rounded so, if each is on its own.
    fn has_words(&self, rounded: Rounded) -> bool {
        Depthwise::has_words(self.level, rounded, self.shape.outputs)
    }

    /// As [`run`](Self::run), with operands that are written in other ways.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(crate) fn compute(
        &self,
        out: &mut [f32],
        stride: usize,
        images: &Images<'_>,
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let [height, width] = self.shape.output(images.size);
        let whole = Held { first: 0, height: images.size[0] };
        let pixels = images.batch * height * width;
        let algorithm = self.algorithm(pixels);
        if let Weights::TwoPixels(two) = &self.weights
            && stride == Rounded::len(written.output, self.shape.outputs)
        {
            let out = &mut out[..pixels * stride];
            two.run(out, [width, self.shape.outputs], written.output, epilogue, |conv, out, epilogue| {
                let stride = Rounded::len(written.output, conv.shape.outputs);
                conv.compute(out, stride, images, epilogue, written);
            });
        } else if let Weights::Groups(panels) = &self.weights
            && self.shape.is_pointwise()
            && algorithm != Algorithm::Direct
        {
            images.with_pixels(self.shape.inputs, 0..images.size[0], |images| {
                let Layout::Pixels { distance: stride_in } = images.layout else { return };
                let left = Left::Rows { data: images.data, stride: stride_in };
                let product = Product { written, ..Product::new(left, pixels, panels, epilogue) };
                product.run_by(algorithm, out, stride);
            });
        } else {
            self.run_lines(out, stride, images, (whole, 0..height), epilogue, written);
        }
    }

    /// The weights, if all numbers of a window are taken together.
    fn by_taps(&self) -> Option<&Panels> {
        match &self.weights {
            Weights::Groups(panels) if self.shape.has_short_pixels() && panels.packing() == Packing::Single => {
                Some(panels)
            }
            _ => None,
        }
    }

    /// Computes some lines of the output from some lines of the images; all of both if there are several images.
    ///
    /// # Panics
    /// If an operand is too short, or a line is missing.
    pub(crate) fn run_lines(
        &self,
        out: &mut [f32],
        stride: usize,
        images: &Images<'_>,
        (held, lines): (Held, Range<usize>),
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        if let Weights::Padded(padded) = &self.weights {
            return padded.run_lines(out, stride, images, (held, lines), epilogue, written);
        }
        if let Weights::TwoPixels(two) = &self.weights {
            return two.plain.run_lines(out, stride, images, (held, lines), epilogue, written);
        }
        let ConvShape { inputs, kernel, stride: step, dilation, before, .. } = self.shape;
        let width = self.shape.output([held.height, images.size[1]])[1];
        let (read, padding) = self.shape.lines_around(&lines, held.height);
        let read = read.start - held.first..read.end - held.first;
        let output = [lines.len(), width];
        if self.by_taps().is_some() && images.batch > 1 {
            // One by one, so that what is copied stays in the cache.
            for image in 0..images.batch {
                let row = image * output[0] * output[1];
                let start = (row * stride).min(out.len());
                let (out, epilogue) = (&mut out[start..], epilogue.at_row(row));
                self.run_lines(out, stride, &images.one(image), (held, lines.clone()), &epilogue, written);
            }
            return;
        }
        if let Some(panels) = self.by_taps() {
            // All windows are inside the image with its padding.
            return images.with_padding(inputs, padding, read, |images| {
                let [_, line, pixel, channel] = images.strides(inputs);
                let taps: SmallVec<[usize; 32]> = (0..kernel[0])
                    .flat_map(|i| (0..kernel[1]).map(move |j| [i, j]))
                    .map(|[i, j]| i * dilation[0] * line + j * dilation[1] * pixel)
                    .flat_map(|tap| (0..inputs).map(move |index| tap + index * channel))
                    .collect();
                let (data, places) = (images.data, &taps);
                let steps = [0, step[0] * line, step[1] * pixel].map(|step| step * size_of::<f32>());
                let left = Left::Taps(Inside { data, output, steps, places, axes: [Axis::ONE; 2], first: [0; 2] });
                Product::new(left, output[0] * output[1], panels, epilogue).run(out, stride);
            });
        }
        let numbers = if written.left { self.words().numbers() } else { 1 };
        images.with_pixels(inputs / numbers, read, |images| {
            let Layout::Pixels { distance: pixel } = images.layout else { return };
            let (data, input, before) = (images.data, images.size, [padding[0][0], before[1]]);
            let (zeros, frames) = (&self.zeros, Axis::ONE);
            let windows = Windows { data, input, pixel, output, kernel, stride: step, dilation, before, zeros, frames };
            match (written.whole, &self.weights) {
                // Of what stands for 0 there are words, as there are of pixels: those of single ones are rounded with their rows.
                (Some(Quantized { left, .. }), Weights::Groups(panels))
                    if panels.packing().is_whole() && (written.left || kernel != [1; 2]) =>
                {
                    scratch(inputs, |zeros| {
                        zeros.fill(left.zeros(panels.packing().numbers()));
                        self.run_windows(out, stride, images.batch, Windows { zeros, ..windows }, epilogue, written);
                    });
                }
                _ => self.run_windows(out, stride, images.batch, windows, epilogue, written),
            }
        });
    }

    /// Computes the outputs of windows of so many images.
    fn run_windows(
        &self,
        out: &mut [f32],
        stride: usize,
        batch: usize,
        windows: Windows<'_>,
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let rows = batch * windows.output[0] * windows.output[1];
        let left = windows.into();
        match &self.weights {
            Weights::Groups(panels) => {
                let product = Product { written, ..Product::new(left, rows, panels, epilogue) };
                product.run_by(self.algorithm.of_windows(panels), out, stride);
            }
            Weights::Depthwise(weights) => {
                let (channels, reads_pairs, writes_pairs) = (self.shape.inputs, written.left, written.output.is_some());
                let weights = weights.of(reads_pairs);
                let depthwise = Depthwise { windows, batch, channels, weights, epilogue, reads_pairs, writes_pairs };
                depthwise.run(self.level, out, stride);
            }
            Weights::Few(few) => few.run(self.level, (out, stride), &left, rows, epilogue),
            Weights::Joined(grouped) => grouped.run(&Job { windows, batch, epilogue, written }, out, stride),
            Weights::Winograd(winograd) => winograd.run(out, stride, batch, windows, epilogue),
            Weights::Padded(_) | Weights::TwoPixels(_) => unreachable!("lines of such are computed in another way"),
        }
    }
}
