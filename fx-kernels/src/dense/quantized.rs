//! Linear layers and convolutions of whole numbers of eight bits.
//!
//! Weights are whole numbers from -128 to 127, each output's with a scale. What they are multiplied with is rounded as it is made
//! ready for the tiles. Where the processor has no fast products of bytes, channels do not come in fours, or are on their own, weights
//! are kept as the numbers that they stand for, and the input is rounded to such: the sums are the same, but for their roundings.

mod activations;
mod volumes;

use std::ops::Range;

use super::algorithm::Algorithm;
use super::conv::{Held, PackedConv};
use super::epilogue::Epilogue;
use super::format::{Format, Packing};
use super::images::{Images, Layout};
use super::linear::PackedLinear;
use super::padded::PaddedConv;
use super::product::{Quantized, Written};
use super::shape::ConvShape;
use super::volumes::VolumeShape;
use super::weight::Weight;
use crate::memory::scratch;
use crate::quantization::widen_words;
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::{for_each_piece, shared_out};

use activations::rounded;

pub use activations::Activations;
pub use volumes::QuantizedVolumeConv;

/// Weights of whole numbers, in PyTorch's layout: a row for each output.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    /// The numbers.
    pub weight: &'a [i8],
    /// What each output's are multiplied by.
    pub scales: &'a [f32],
    /// The bits of the numbers that they will be multiplied with, eight at most: there are processors on which seven are faster.
    pub bits: u32,
}

/// A linear layer of whole numbers: `y = x W^T`, where `x` is rounded.
///
/// ```
/// use fx_kernels::Quantization;
/// use fx_kernels::dense::{Bytes, Epilogue, QuantizedLinear};
///
/// let input = Quantization { scale: 0.5, zero_point: 0, min: 0, max: 255 };
/// let layer = QuantizedLinear::new(Bytes { weight: &[1, 2, 3, 4, 5, 6], scales: &[1.0, 0.5, 0.25], bits: input.bits() }, 2);
/// let mut y = [0.0; 3];
/// layer.run(&mut y, 3, &[1.2, 10.0], 2, 1, input, &Epilogue::default());
/// assert_eq!(y, [21.0, 21.5, 16.25]);
/// ```
#[derive(Debug)]
pub struct QuantizedLinear {
    packed: PackedLinear,
    columns: Columns,
}

impl QuantizedLinear {
    /// Packs a weight, whose rows are as long as an input.
    ///
    /// # Panics
    /// If there is no row of so many numbers for each scale.
    pub fn new(weight: Bytes<'_>, inputs: usize) -> Self {
        Self::at(Level::detect(), weight, inputs)
    }

    /// As [`new`](Self::new), for instructions of the given level.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if the processor does not have the level.
    pub fn at(level: Level, weight: Bytes<'_>, inputs: usize) -> Self {
        let outputs = weight.scales.len();
        weight.check(outputs, inputs);
        let packing = Packing::whole(level, Packing::filled_up(inputs, 4), weight.bits);
        let (packed, columns) = weight
            .pack(inputs, packing, |weight, packing| PackedLinear::packed((level, packing), weight, [outputs, inputs]));
        Self { packed, columns }
    }

    /// The numbers in a row of the input.
    pub fn inputs(&self) -> usize {
        self.packed.inputs()
    }

    /// The numbers in a row of the output.
    pub fn outputs(&self) -> usize {
        self.packed.outputs()
    }

    /// The type in which the weights are kept: bytes, or f32.
    pub fn format(&self) -> Format {
        self.packed.format()
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        self.packed.bytes() + self.columns.bytes()
    }

    /// Whether the input may be [words](super::Words): of bytes.
    pub fn reads_words(&self) -> bool {
        self.packed.reads_words()
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        self.packed.writes_words(rounded)
    }

    /// Whether what is added may be words of what is rounded so: of bytes.
    pub fn adds_words(&self, rounded: Rounded) -> bool {
        matches!(rounded, Rounded::Bytes(_)) && self.writes_words(rounded)
    }

    /// As [`PackedLinear::run`], of an input that is rounded so; strides are in words where operands are.
    ///
    /// # Panics
    /// If an operand is too short, the range has more bits than the weights are packed for, or an operand
    /// [cannot](Self::reads_words) [be](Self::adds_words) [words](Self::writes_words).
    #[allow(clippy::too_many_arguments, reason = "as many say what is computed")]
    pub fn run(
        &self,
        out: &mut [f32],
        stride: usize,
        input: &[f32],
        input_stride: usize,
        rows: usize,
        activations: impl Into<Activations>,
        epilogue: &Epilogue<'_>,
    ) {
        let activations = activations.into();
        activations.words.check(
            self.reads_words(),
            |added| self.adds_words(added),
            |rounded| self.writes_words(rounded),
        );
        activations.with_added(out, [rows, self.outputs(), stride], epilogue, |out, epilogue| {
            self.columns.with(activations, epilogue, |written, epilogue| {
                self.packed.compute(out, stride, (input, input_stride), rows, epilogue, written);
            });
        });
    }
}

/// A convolution of whole numbers.
#[derive(Debug)]
pub struct QuantizedConv {
    shape: ConvShape,
    weights: Weights,
    columns: Columns,
}

/// Packed weights, by the way that the windows are read.
#[derive(Debug)]
enum Weights {
    /// Where they lie.
    Windows(PackedConv),
    /// In lines of words, with what is around them.
    Padded(PaddedConv),
    /// Single pixels, of channels that are no whole words, which are filled up.
    Pixels(PackedLinear),
    /// Where they lie in images that are rounded first: of what the numbers stand for.
    Rounded(PackedConv),
}

impl QuantizedConv {
    /// Packs a weight, `[outputs, inputs of a group, height, width]`.
    ///
    /// # Panics
    /// If the weight has another length, or there is no scale for each output.
    pub fn new(weight: Bytes<'_>, shape: ConvShape) -> Self {
        Self::at(Level::detect(), weight, shape)
    }

    /// As [`new`](Self::new), for instructions of the given level.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if the processor does not have the level.
    pub fn at(level: Level, weight: Bytes<'_>, shape: ConvShape) -> Self {
        let (channels, taps) = shape.row();
        let row = channels * taps;
        weight.check(shape.outputs, row);
        let images = VolumeShape::of_images(shape);
        let (together, packing) = words(level, &images, weight.bits);
        let (weights, columns) = match packing {
            // Neither few channels where they lie nor those on their own are rounded as windows read them.
            None if shape.has_short_pixels() || shape.is_depthwise() => weight.pack(row, None, |weight, _| {
                Weights::Rounded(PackedConv::at(level, weight, shape, Algorithm::Direct, Format::F32))
            }),
            None if let Some(packing) = of_pixels(level, &shape, weight.bits) => {
                weight.pack(row, Some(packing), |weight, packing| {
                    Weights::Pixels(PackedLinear::packed((level, packing), weight, [shape.outputs, row]))
                })
            }
            None => weight.pack(row, None, |weight, packing| {
                Weights::Windows(PackedConv::packed((level, packing), weight, shape))
            }),
            packing => {
                let joined = weight.joined(&images, together);
                let weight = Bytes { weight: joined.as_deref().unwrap_or(weight.weight), ..weight };
                let images = images.joined(together);
                weight.pack(row * together, packing, |weight, packing| match PaddedConv::fits(&images, packing) {
                    true => Weights::Padded(PaddedConv::new((level, packing), weight, images)),
                    false => Weights::Windows(PackedConv::packed((level, packing), weight, images.frame)),
                })
            }
        };
        Self { shape, weights, columns }
    }

    /// The sizes.
    pub fn shape(&self) -> &ConvShape {
        &self.shape
    }

    /// The type in which the weights are kept: bytes, or f32.
    pub fn format(&self) -> Format {
        match &self.weights {
            Weights::Windows(packed) | Weights::Rounded(packed) => packed.format(),
            Weights::Padded(_) | Weights::Pixels(_) => Format::Int8,
        }
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        let packed = match &self.weights {
            Weights::Windows(packed) | Weights::Rounded(packed) => packed.bytes(),
            Weights::Padded(padded) => padded.bytes(),
            Weights::Pixels(packed) => packed.bytes(),
        };
        packed + self.columns.bytes()
    }

    /// Whether the images may be [words](super::Words), with the channels last: of bytes.
    pub fn reads_words(&self) -> bool {
        match &self.weights {
            Weights::Windows(packed) => packed.packing() == Some(Packing::Quads),
            Weights::Padded(padded) => padded.reads_words(),
            Weights::Pixels(packed) => packed.reads_words(),
            Weights::Rounded(packed) => packed.shape().inputs.is_multiple_of(4),
        }
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        match &self.weights {
            Weights::Windows(packed) => packed.writes_words(rounded),
            Weights::Padded(padded) => padded.writes_words(rounded),
            Weights::Pixels(packed) => packed.writes_words(rounded),
            Weights::Rounded(packed) => {
                rounded.is_fast(packed.level()) && packed.shape().outputs.is_multiple_of(rounded.numbers())
            }
        }
    }

    /// Whether what is added may be words of what is rounded so: of bytes.
    pub fn adds_words(&self, rounded: Rounded) -> bool {
        matches!(rounded, Rounded::Bytes(_)) && self.writes_lines_of_words(rounded)
    }

    /// The same of [some lines](Self::run_lines).
    pub(crate) fn writes_lines_of_words(&self, rounded: Rounded) -> bool {
        !matches!(self.weights, Weights::Rounded(_)) && self.writes_words(rounded)
    }

    /// As [`PackedConv::run`], of images that are rounded so; distances are in words where operands are. Padding is 0.
    ///
    /// # Panics
    /// If an operand is too short, the range has more bits than the weights are packed for, or an operand
    /// [cannot](Self::reads_words) [be](Self::adds_words) [words](Self::writes_words).
    pub fn run(
        &self,
        out: &mut [f32],
        stride: usize,
        images: &Images<'_>,
        activations: impl Into<Activations>,
        epilogue: &Epilogue<'_>,
    ) {
        let activations = activations.into();
        activations.words.check(
            self.reads_words(),
            |added| self.adds_words(added),
            |rounded| self.writes_words(rounded),
        );
        let [height, width] = self.shape.output(images.size);
        let size = [images.batch * height * width, self.shape.outputs, stride];
        activations.with_added(out, size, epilogue, |out, epilogue| {
            self.columns.with(activations, epilogue, |written, epilogue| match &self.weights {
                Weights::Windows(packed) => packed.compute(out, stride, images, epilogue, written),
                Weights::Padded(padded) => {
                    let held = Held { first: 0, height: images.size[0] };
                    padded.run_lines(out, stride, images, (held, 0..height), epilogue, written);
                }
                Weights::Pixels(packed) => run_pixels(packed, out, stride, images, 0..height, epilogue, written),
                Weights::Rounded(packed) => run_rounded(packed, out, stride, images, activations, epilogue),
            });
        });
    }

    /// Computes some lines of the output from some lines of the images; all of both if there are several images. Nothing is added.
    ///
    /// # Panics
    /// As [`run`](Self::run), or if a line is missing or [cannot be](Self::writes_lines_of_words) words.
    pub(crate) fn run_lines(
        &self,
        out: &mut [f32],
        stride: usize,
        images: &Images<'_>,
        (held, lines): (Held, Range<usize>),
        activations: Activations,
        epilogue: &Epilogue<'_>,
    ) {
        activations.words.check(self.reads_words(), |_| false, |rounded| self.writes_lines_of_words(rounded));
        assert!(!epilogue.adds(), "nothing is added to some lines");
        self.columns.with(activations, epilogue, |written, epilogue| match &self.weights {
            Weights::Windows(packed) => packed.run_lines(out, stride, images, (held, lines), epilogue, written),
            Weights::Padded(padded) => padded.run_lines(out, stride, images, (held, lines), epilogue, written),
            Weights::Pixels(packed) => {
                let lines = lines.start - held.first..lines.end - held.first;
                run_pixels(packed, out, stride, images, lines, epilogue, written);
            }
            Weights::Rounded(packed) => {
                rounded_lines(packed, out, stride, images, (held, lines), activations, epilogue);
            }
        });
    }
}

/// How many groups are taken together, and the words of the weights; None where they are kept as the numbers that they stand for, as those of
/// channels on their own are.
fn words(level: Level, shape: &VolumeShape, bits: u32) -> (usize, Option<Packing>) {
    if shape.frame.is_depthwise() {
        return (1, None);
    }
    let together = groups_together(&shape.frame);
    let filled_up = Packing::whole(level, 4, bits).filter(|packing| PaddedConv::fills_up(shape, *packing));
    (together, filled_up.or_else(|| Packing::whole(level, shape.row().0 * together, bits)))
}

/// The words of the weights of single pixels, each of which is filled up to whole words; None where that takes longer.
fn of_pixels(level: Level, shape: &ConvShape, bits: u32) -> Option<Packing> {
    let is_one = shape.is_pointwise() && shape.groups == 1;
    if is_one { Packing::whole(level, Packing::filled_up(shape.inputs, 4), bits) } else { None }
}

/// The products of the pixels of some lines of images, of all if there are several images.
fn run_pixels(
    packed: &PackedLinear,
    out: &mut [f32],
    stride: usize,
    images: &Images<'_>,
    lines: Range<usize>,
    epilogue: &Epilogue<'_>,
    written: Written<'_>,
) {
    images.with_pixels(packed.inputs(), lines, |images| {
        let Layout::Pixels { distance } = images.layout else { return };
        let pixels = images.batch * images.size[0] * images.size[1];
        packed.compute(out, stride, (images.data, distance), pixels, epilogue, written);
    });
}

/// How many groups of few outputs are taken together, so that these fill a vector: a product of whole numbers with 0 adds nothing.
fn groups_together(shape: &ConvShape) -> usize {
    /// The outputs that fill one.
    const MANY: usize = 16;
    let fits =
        |together: &usize| shape.groups.is_multiple_of(*together) && together * shape.outputs / shape.groups <= MANY;
    (1..=MANY).rev().find(fits).unwrap_or(1)
}

/// What is known of each output's weights; nothing unless they are kept as bytes.
#[derive(Debug)]
struct Columns {
    /// The most bits of what they are multiplied with.
    bits: u32,
    /// What whole numbers are multiplied by.
    scales: Vec<f32>,
    /// What all of them add up to, as the numbers that they stand for.
    sums: Vec<f32>,
}

impl Bytes<'_> {
    /// Checks that there are so many rows of so many numbers, and a scale for each.
    fn check(&self, rows: usize, len: usize) {
        assert_eq!(self.scales.len(), rows, "there is a scale for each of {rows} outputs");
        assert_eq!(self.weight.len(), rows * len, "the weight has {rows} rows of {len} numbers");
        assert!(self.bits <= 8, "weights are multiplied with numbers of eight bits at most, not {}", self.bits);
    }

    /// The weight of a convolution as one whose groups are so many of these together, with zeros between them; None if that is
    /// itself.
    fn joined(&self, shape: &VolumeShape, together: usize) -> Option<Vec<i8>> {
        if together == 1 {
            return None;
        }
        let (channels, taps) = shape.row();
        let (row, outputs) = (channels * taps, shape.frame.outputs / shape.frame.groups);
        let mut rows = vec![0; self.weight.len() * together];
        for (output, (from, to)) in self.weight.chunks(row).zip(rows.chunks_mut(row * together)).enumerate() {
            to[output / outputs % together * row..][..row].copy_from_slice(from);
        }
        Some(rows)
    }

    /// Packs rows of so many whole numbers in words of them, or as the numbers that they stand for.
    fn pack<P>(
        &self,
        len: usize,
        packing: Option<Packing>,
        pack: impl FnOnce(Weight<'_>, Packing) -> P,
    ) -> (P, Columns) {
        let Self { weight, scales, .. } = *self;
        let read = |rows: Range<usize>, numbers: &mut [f32]| {
            for (row, to) in rows.zip(numbers.chunks_exact_mut(len.max(1))) {
                let scale = if packing.is_some() { 1.0 } else { scales[row] };
                to.iter_mut().zip(&weight[row * len..]).for_each(|(to, x)| *to = f32::from(*x) * scale);
            }
        };
        let packed = pack(Weight::Rows(&read), packing.unwrap_or(Packing::Single));
        let none = || Columns { bits: self.bits, scales: Vec::new(), sums: Vec::new() };
        (packed, packing.map_or_else(none, |_| self.columns(len)))
    }

    /// What is known of rows of so many bytes.
    fn columns(&self, len: usize) -> Columns {
        let sum = |row: usize| {
            let sum: i64 = self.weight[row * len..(row + 1) * len].iter().map(|x| i64::from(*x)).sum();
            sum as f32 * self.scales[row]
        };
        Columns { bits: self.bits, scales: self.scales.to_vec(), sums: (0..self.scales.len()).map(sum).collect() }
    }
}

impl Columns {
    fn bytes(&self) -> usize {
        size_of_val(self.scales.as_slice()) + size_of_val(self.sums.as_slice())
    }

    /// Calls a function with how the operands of a product are written, and what follows it: what stands for 0 is taken off
    /// with the bias.
    fn with(&self, activations: Activations, epilogue: &Epilogue<'_>, f: impl FnOnce(Written<'_>, &Epilogue<'_>)) {
        let Activations { input, words, .. } = activations;
        assert!(input.bits() <= self.bits, "{} to {} are more than {} bits", input.min, input.max, self.bits);
        if self.scales.is_empty() {
            return f(words.written(Some(Quantized { left: input, scales: &[] })), epilogue);
        }
        scratch(2 * self.scales.len(), |numbers| {
            let (scales, bias) = numbers.split_at_mut(self.scales.len());
            scales.iter_mut().zip(&self.scales).for_each(|(to, scale)| *to = scale * input.scale);
            let zero = input.zero() as f32 * input.scale;
            for (index, (to, sum)) in bias.iter_mut().zip(&self.sums).enumerate() {
                *to = epilogue.bias.map_or(0.0, |bias| bias[index]) - zero * sum;
            }
            let written = words.written(Some(Quantized { left: input, scales }));
            f(written, &Epilogue { bias: Some(bias), ..*epilogue });
        });
    }
}

/// As [`PackedConv::run`], of images that are rounded: some lines, and what is computed from them, before others take their place in
/// the cache.
fn run_rounded(
    packed: &PackedConv,
    out: &mut [f32],
    stride: usize,
    images: &Images<'_>,
    activations: Activations,
    epilogue: &Epilogue<'_>,
) {
    /// The numbers of the lines that are rounded together.
    const BAND: usize = 64 * 1024;
    let shape = packed.shape();
    let ([height, width], held) = (shape.output(images.size), Held { first: 0, height: images.size[0] });
    let Some(last) = (height * width).checked_sub(1) else { return };
    let band = (BAND / (images.size[1] * shape.inputs * shape.stride[0]).max(1)).clamp(1, height);
    let band = height.div_ceil(shared_out(height.div_ceil(band)));
    for image in 0..images.batch {
        let row = image * height * width;
        let out = &mut out[row * stride..][..last * stride + activations.words.output_len(shape.outputs)];
        let image = images.one(image);
        for_each_piece(out, band * width * stride, 2 * (last + 1) * packed.products(), |index, out| {
            let lines = index * band..height.min((index + 1) * band);
            let epilogue = epilogue.at_row(row + index * band * width);
            let Some(output) = activations.words.output else {
                return rounded_lines(packed, out, stride, &image, (held, lines), activations, &epilogue);
            };
            let (rows, outputs) = (lines.len() * width, shape.outputs);
            scratch(rows * outputs, |numbers| {
                rounded_lines(packed, numbers, outputs, &image, (held, lines), activations, &epilogue);
                let (to, from) = ((out.as_mut_ptr(), stride), (numbers.as_ptr(), outputs));
                // SAFETY: the piece has as many rows, of which the last may end with its last number, as there are numbers.
                unsafe { output.write(packed.level(), to, from, [rows, outputs]) };
            });
        });
    }
}

/// As [`PackedConv::run_lines`], of lines that are rounded, into numbers.
fn rounded_lines(
    packed: &PackedConv,
    out: &mut [f32],
    stride: usize,
    images: &Images<'_>,
    (held, lines): (Held, Range<usize>),
    activations: Activations,
    epilogue: &Epilogue<'_>,
) {
    let inputs = packed.shape().inputs;
    let (read, _) = packed.shape().lines_read(&lines, held.height);
    let first = read.start;
    let read = read.start - held.first..read.end - held.first;
    let channels = activations.words.input_len(inputs);
    images.with_pixels(channels, read, |images| {
        let len = images.batch * images.strides(channels)[0];
        let data = &images.data[..len.min(images.data.len())];
        let run = |images: &Images<'_>| {
            packed.run_lines(out, stride, images, (Held { first, ..held }, lines), epilogue, Written::default());
        };
        let Some(words) = activations.words.input else {
            return rounded(data, activations.input, |data| run(&Images { data, ..*images }));
        };
        let Layout::Pixels { distance } = images.layout else {
            unreachable!("words of images whose channels are first")
        };
        scratch(words.numbers() * data.len(), |widened| {
            widen_words(packed.level(), activations.input, widened, data);
            run(&Images { data: widened, layout: Layout::Pixels { distance: words.numbers() * distance }, ..*images });
        });
    });
}
