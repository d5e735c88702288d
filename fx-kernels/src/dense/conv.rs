//! Convolutions of images with the channels last.

use std::ops::Range;

use smallvec::SmallVec;

use super::algorithm::Algorithm;
use super::depthwise::Depthwise;
use super::epilogue::Epilogue;
use super::format::{Format, Packing};
use super::grouped::{Grouped, Job};
use super::images::{Images, Layout};
use super::left::{Frames, Left, Windows};
use super::matrix_unit::Estimate;
use super::panels::Panels;
use super::patches::{Patches, are_in_place};
use super::product::{Product, Quantized, SMALL_PANELS, Written};
use super::volumes::VolumeShape;
use super::weight::Weight;
use super::window::{Reduction, Sliding};
use super::winograd::Winograd;
use super::words::Words;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::{Level, MatrixUnit, SIDE, has_pairs};

/// The sizes of a convolution that do not depend on the image; a convolution of one dimension has height 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvShape {
    /// The channels of the input.
    pub inputs: usize,
    /// The channels of the output.
    pub outputs: usize,
    /// The height and width of the window.
    pub kernel: [usize; 2],
    /// The steps of the window.
    pub stride: [usize; 2],
    /// The distances between the window's taps.
    pub dilation: [usize; 2],
    /// The padding above and on the left.
    pub before: [usize; 2],
    /// The padding below and on the right.
    pub after: [usize; 2],
    /// The groups that the channels are split into.
    pub groups: usize,
}

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
    Patches(Patches),
    /// A number for each tap and channel.
    Depthwise(Vec<f32>),
    /// Vectors that belong to several groups.
    Joined(Grouped),
    /// Transformed.
    Winograd(Winograd),
}

/// Which lines of an image are there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// The first one's number in the image.
    pub(crate) first: usize,
    /// The lines that the image has.
    pub(crate) height: usize,
}

impl ConvShape {
    /// A convolution of single pixels.
    pub fn pointwise(inputs: usize, outputs: usize) -> Self {
        let (none, one) = ([0; 2], [1; 2]);
        Self { inputs, outputs, kernel: one, stride: one, dilation: one, before: none, after: none, groups: 1 }
    }

    /// The height and width of the output for an input's; 0 where the window does not fit.
    pub fn output(&self, input: [usize; 2]) -> [usize; 2] {
        std::array::from_fn(|i| {
            let window = self.dilation[i] * (self.kernel[i].max(1) - 1) + 1;
            let padded = input[i] + self.before[i] + self.after[i];
            if padded < window { 0 } else { (padded - window) / self.stride[i] + 1 }
        })
    }

    /// The lines of an image of some height that lines of the output are computed from, and how many lines of padding are
    /// above these.
    pub(crate) fn lines_read(&self, lines: &Range<usize>, height: usize) -> (Range<usize>, usize) {
        if lines.is_empty() {
            return (0..0, 0);
        }
        let window = self.dilation[0] * (self.kernel[0].max(1) - 1) + 1;
        let (first, end) = (lines.start * self.stride[0], (lines.end - 1) * self.stride[0] + window);
        let start = first.saturating_sub(self.before[0]).min(height);
        let end = end.saturating_sub(self.before[0]).clamp(start, height);
        (start..end, self.before[0].saturating_sub(first))
    }

    /// As [`lines_read`](Self::lines_read), and the padding that the windows have around these lines: above and below, on the left and
    /// on the right.
    pub(super) fn lines_around(&self, lines: &Range<usize>, height: usize) -> (Range<usize>, [[usize; 2]; 2]) {
        let (read, above) = self.lines_read(lines, height);
        let window = self.dilation[0] * (self.kernel[0].max(1) - 1) + 1;
        let needed = if lines.is_empty() { 0 } else { (lines.len() - 1) * self.stride[0] + window };
        let below = needed.saturating_sub(above + read.len());
        (read, [[above, below], [self.before[1], self.after[1]]])
    }

    /// The algorithm that is fastest for so many images whose output has a height and width, if weights may be kept in a
    /// format. For single pixels it is Strassen's, whatever their number.
    pub fn algorithm(&self, images: usize, output: [usize; 2], format: Format) -> Algorithm {
        /// The operations on each number of a tile before and after the products, or of a window that is copied.
        const TRANSFORM: usize = 8;
        /// The products in the time in which a weight is read from memory.
        const READ: usize = 24;
        /// The products in the time in which a weight of Winograd's algorithm is made of taps.
        const MAKE: usize = 4;
        /// The products that a matrix unit makes of pairs in the time of one of numbers, at least.
        const ON_UNIT: usize = 8;
        /// The tiles that take as long as a single one: products wait for the ones before.
        const FEW: usize = 4;
        if self.is_pointwise() && format == Format::F32 {
            return Algorithm::Strassen;
        }
        let level = Level::detect();
        let in_pairs = self.format(level, format) == Format::Bf16 && has_pairs(level);
        let in_pieces = self.in_pieces(level, images, output).filter(|_| format == Format::F32);
        if !Winograd::fits(self) {
            let is_faster = in_pieces.is_some_and(|estimate| estimate.is_faster(level));
            return if is_faster { Algorithm::Bf16x6 } else { Algorithm::Direct };
        }
        let in_pieces = in_pieces.and_then(|estimate| estimate.products(level)).unwrap_or(usize::MAX);
        let Self { inputs, outputs, .. } = *self;
        let tiles = |side: usize| images * output.map(|size| size.div_ceil(side)).iter().product::<usize>();
        let (taps, matrix) = (9 * inputs * outputs, inputs * outputs);
        let is_copied = in_pairs && self.is_copied();
        let is_on_unit = in_pairs && (is_copied || inputs >= SIDE) && MatrixUnit::detect().is_some();
        let tiled = |side: usize| {
            let (tiles, places) = (tiles(side), (side + 2).pow(2));
            let products = places * matrix * tiles.max(FEW);
            let all = match Winograd::keeps(places * matrix) {
                true => products,
                false => (products + places * matrix * MAKE).max(taps * READ),
            };
            all + tiles * places * (inputs + outputs) * TRANSFORM
        };
        let direct = if taps <= SMALL_PANELS { taps * tiles(1) } else { taps * tiles(1).max(READ) };
        let direct = match in_pairs {
            // Fewer channels than a row of its registers holds take as long.
            true if is_on_unit => direct.max(9 * 2 * SIDE * outputs * tiles(1)) / ON_UNIT,
            // They take half of the memory: what comes in their place must be faster by a tenth.
            true => direct / 2 - direct / 20,
            false => direct,
        };
        let direct = direct + if is_copied { tiles(1) * 9 * inputs * TRANSFORM } else { 0 };
        let costs = [
            (direct, Algorithm::Direct),
            (tiled(2), Algorithm::Winograd2),
            (tiled(4), Algorithm::Winograd4),
            (in_pieces, Algorithm::Bf16x6),
        ];
        costs.into_iter().min_by_key(|(cost, _)| *cost).map_or(Algorithm::Direct, |(_, algorithm)| algorithm)
    }

    /// The product of windows where they lie, of numbers that may be split; None if windows are computed in another way.
    fn in_pieces(&self, level: Level, images: usize, [height, width]: [usize; 2]) -> Option<Estimate> {
        if self.is_depthwise() || self.has_short_pixels() || Grouped::fits(level, self) {
            return None;
        }
        let Self { inputs, outputs, kernel, stride, groups, .. } = *self;
        // Of single pixels those that windows skip are not read.
        let read = |axis: usize| if kernel[axis] == 1 { 1 } else { stride[axis] };
        let lines = images * height;
        Some(Estimate {
            lines,
            width,
            numbers: lines * width * read(0) * read(1) * inputs,
            runs: kernel[0] * kernel[1],
            run: inputs / groups,
            groups,
            columns: outputs / groups,
        })
    }

    /// Whether the output's pixels are products of the input's pixels, in the same order.
    fn is_pointwise(&self) -> bool {
        self.kernel == [1; 2] && self.stride == [1; 2] && self.before == [0; 2] && self.after == [0; 2]
    }

    /// The same, with so many groups together as one.
    pub(super) fn joined(&self, together: usize) -> Self {
        Self { groups: self.groups / together, ..*self }
    }

    /// Whether each channel is on its own.
    pub(crate) fn is_depthwise(&self) -> bool {
        self.groups == self.inputs && self.groups == self.outputs && self.groups > 1
    }

    /// The channels of a group and the taps, whose product is the length of an output's weights.
    ///
    /// # Panics
    /// If the groups do not divide the channels.
    pub(crate) fn row(&self) -> (usize, usize) {
        let Self { inputs, outputs, kernel, groups, .. } = *self;
        assert!(
            groups > 0 && inputs % groups == 0 && outputs % groups == 0,
            "{groups} groups do not divide {inputs} and {outputs} channels"
        );
        (inputs / groups, kernel[0] * kernel[1])
    }

    /// The format in which the direct algorithm's weights are kept where one is allowed. Windows of few channels have an odd
    /// number of numbers, mostly: they are copied to be multiplied in pairs, if enough is done with each copy. Other half floats do
    /// not make up for it.
    fn format(&self, level: Level, allowed: Format) -> Format {
        /// The products for a pixel of the output, with those that fill vectors, which take as long as rounding and copying; and as
        /// rounding for a matrix unit, which reads windows where they lie.
        const COPIED: usize = 768;
        const ROUNDED: usize = 384;
        let products = || self.inputs * self.kernel[0] * self.kernel[1] * self.outputs.next_multiple_of(16);
        // Of one channel half of each word is zeros.
        let in_place = || self.inputs > 1 && are_in_place(&VolumeShape::of_images(*self), Packing::Pairs);
        let is_much = || products() >= if in_place() { ROUNDED } else { COPIED };
        match allowed {
            Format::Bf16 if Grouped::are_faster_than_pairs(level, self) => Format::F32,
            Format::Bf16 if has_pairs(level) && !self.is_copied() => allowed,
            _ if !self.has_short_pixels() => allowed,
            Format::Bf16 if has_pairs(level) && is_much() => allowed,
            _ => Format::F32,
        }
    }

    /// What the words of weights are that windows are multiplied with where they lie; None if there is a better way. `all` says whether all
    /// weights are such.
    pub(super) fn packing(
        &self,
        level: Level,
        allowed: Format,
        all: impl Fn(fn(f32) -> bool) -> bool,
    ) -> Option<Packing> {
        let format = self.format(level, allowed);
        if self.is_depthwise() || self.is_in_patches(level, allowed) {
            return None;
        }
        let packing = Packing::of(format, level, self.row().0, all);
        (packing != Packing::Single || !Grouped::fits(level, self)).then_some(packing)
    }

    /// Whether windows of few channels are multiplied in pairs, of lines that are rounded first, where weights may be kept in a format.
    pub(super) fn is_in_patches(&self, level: Level, allowed: Format) -> bool {
        self.format(level, allowed) == Format::Bf16 && self.is_copied()
    }

    /// Whether lines are rounded first, and windows mostly copied, to be multiplied in pairs: those of few channels, unless a matrix unit takes
    /// their pixels as they are.
    fn is_copied(&self) -> bool {
        self.has_short_pixels() && !(self.inputs == SIDE && MatrixUnit::detect().is_some())
    }

    /// Whether a pixel has so few channels that all numbers of a window are better taken together.
    pub(crate) fn has_short_pixels(&self) -> bool {
        self.groups == 1 && self.kernel != [1; 2] && self.inputs <= 16
    }
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
    /// instruction for it, unless they have too few taps and outputs to be faster.
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
        let winograd = match Winograd::fits(&shape) {
            true => Winograd::new(level, weight, algorithm, inputs, outputs),
            false => None,
        };
        let weights = if let Some(winograd) = winograd {
            Weights::Winograd(winograd)
        } else if let Some(packing) = shape.packing(level, format, |is_such| weight.all(outputs, step, is_such)) {
            return Self { algorithm, ..Self::packed((level, packing), weight, shape) };
        } else if shape.is_depthwise() {
            let by_tap =
                |numbers: &[f32]| (0..inputs * taps).map(|i| numbers[i % inputs * taps + i / inputs]).collect();
            Weights::Depthwise(weight.with_rows(0..outputs, step, by_tap))
        } else {
            match Grouped::new(level, weight, &shape) {
                Some(grouped) => Weights::Joined(grouped),
                None => Weights::Patches(Patches::new((level, Packing::Pairs), weight, VolumeShape::of_images(shape))),
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
            Weights::Groups(panels) if panels.packing() == Packing::Single => self.by_windows(),
            Weights::Groups(_) | Weights::Patches(_) | Weights::Depthwise(_) | Weights::Joined(_) => Algorithm::Direct,
        }
    }

    /// The algorithm by which windows are multiplied where they lie, whatever their number.
    fn by_windows(&self) -> Algorithm {
        if self.algorithm == Algorithm::Bf16x6 { self.algorithm } else { Algorithm::Direct }
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        match &self.weights {
            Weights::Groups(panels) => panels.packing().format(),
            Weights::Patches(_) => Format::Bf16,
            Weights::Depthwise(_) | Weights::Joined(_) | Weights::Winograd(_) => Format::F32,
        }
    }

    /// What the words of the weights are, if windows are multiplied where they lie.
    pub(crate) fn packing(&self) -> Option<Packing> {
        match &self.weights {
            Weights::Groups(panels) => Some(panels.packing()),
            Weights::Patches(_) | Weights::Depthwise(_) | Weights::Joined(_) | Weights::Winograd(_) => None,
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
            Weights::Patches(patches) => patches.bytes(),
            Weights::Depthwise(weights) => size_of_val(weights.as_slice()),
            Weights::Joined(grouped) => grouped.bytes(),
            Weights::Winograd(winograd) => winograd.bytes(),
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
        words.check(self.reads_words(), self.adds_words(), |rounded| self.writes_words(rounded));
        self.compute(out, stride, images, epilogue, words.written(None));
    }

    /// Whether the images may be [words](Words), with the channels last: of pairs of bf16.
    pub fn reads_words(&self) -> bool {
        self.packing() == Some(Packing::Pairs)
    }

    /// Whether the residual may be words, of pairs of bf16.
    pub fn adds_words(&self) -> bool {
        self.packing() == Some(Packing::Pairs) && (self.shape.outputs / self.shape.groups).is_multiple_of(2)
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        let is_product = match &self.weights {
            // Strassen's algorithm, for weights in f32, writes numbers.
            Weights::Groups(panels) => panels.packing() != Packing::Single,
            Weights::Patches(_) => true,
            Weights::Depthwise(_) | Weights::Joined(_) | Weights::Winograd(_) => false,
        };
        let columns = self.shape.outputs / self.shape.groups;
        is_product && rounded.is_fast(self.level) && columns.is_multiple_of(rounded.numbers())
    }

    /// As [`run`](Self::run), with operands that are written in other ways, if channels are not on their own.
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
        if let Weights::Groups(panels) = &self.weights
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
        if let Weights::Patches(patches) = &self.weights {
            return patches.run_lines(out, stride, images, (held, lines), epilogue, written);
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
                let (data, input, one) = (images.data, images.size, [1; 2]);
                let windows = Windows {
                    data,
                    input,
                    pixel,
                    output,
                    kernel: one,
                    stride: step,
                    dilation: one,
                    before: [0; 2],
                    zeros: &[],
                    frames: Frames::ONE,
                };
                let left = Left::Taps { windows, taps: &taps };
                Product::new(left, output[0] * output[1], panels, epilogue).run(out, stride);
            });
        }
        let numbers = self.packing().filter(|_| written.left).map_or(1, Packing::numbers);
        images.with_pixels(inputs / numbers, read, |images| {
            let Layout::Pixels { distance: pixel } = images.layout else { return };
            let (data, input, before) = (images.data, images.size, [padding[0][0], before[1]]);
            let (zeros, frames) = (&self.zeros, Frames::ONE);
            let windows = Windows { data, input, pixel, output, kernel, stride: step, dilation, before, zeros, frames };
            match (written.whole, &self.weights) {
                // Of what stands for 0 there are words, as there are of pixels of windows.
                (Some(Quantized { left, .. }), Weights::Groups(panels))
                    if panels.packing().is_whole() && kernel != [1; 2] =>
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
        let left = match self.shape.is_pointwise() {
            true => Left::Rows { data: windows.data, stride: windows.pixel },
            false => Left::Windows(windows),
        };
        match &self.weights {
            Weights::Groups(panels) => {
                Product { written, ..Product::new(left, rows, panels, epilogue) }.run_by(self.algorithm, out, stride);
            }
            Weights::Depthwise(weights) if Depthwise::fits(&windows) => {
                let channels = self.shape.inputs;
                Depthwise { windows, batch, channels, weights, epilogue }.run(self.level, out, stride);
            }
            Weights::Depthwise(weights) => {
                let reduction = Reduction::Weighted(weights);
                let channels = self.shape.inputs;
                Sliding { left, rows, channels, reduction, epilogue, written: None }.run(self.level, out, stride);
            }
            Weights::Joined(grouped) => grouped.run(&Job { windows, batch, epilogue }, out, stride),
            Weights::Winograd(winograd) => winograd.run(out, stride, batch, windows, epilogue),
            Weights::Patches(_) => unreachable!("windows of few channels are copied"),
        }
    }
}
