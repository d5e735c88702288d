//! Convolutions of images or volumes that are copied as words first, with what is around them, of bf16 or whole numbers.
//!
//! Windows lie all inside the copy. They are multiplied there, but for those of bf16 that have few channels, which are copied again, each to a
//! row of words. Where a matrix unit takes lines of windows of few channels where they lie, pixels are filled up to whole words.

mod bands;
mod part;
mod patches;

use std::ops::Range;

use self::part::Part;
use self::patches::BEYOND;
use super::algorithm::Algorithm;
use super::conv::Held;
use super::epilogue::Epilogue;
use super::format::Packing;
use super::images::Images;
use super::linear::PackedLinear;
use super::matrix_unit::SHORTEST;
use super::panels::Panels;
use super::product::Written;
use super::shape::ConvShape;
use super::volumes::{VolumeShape, VolumeWindows};
use super::weight::Weight;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::{Level, MatrixUnit, SIDE};

/// Weights for windows of images that are copied.
#[derive(Debug)]
pub(super) struct PaddedConv {
    weights: Weights,
    level: Level,
    packing: Packing,
    shape: VolumeShape,
    /// The channels of a pixel in lines of words.
    channels: usize,
}

#[derive(Debug)]
enum Weights {
    /// Of windows that are copied, each to a row of words.
    Patches(PackedLinear),
    /// Of windows where they lie, of pixels that are whole words, for a matrix unit.
    OnUnit(Box<VolumeWindows>),
    /// Of windows where they lie, band after band.
    Bands(Panels),
}

impl PaddedConv {
    /// Packs a weight, `[outputs, inputs of a group, depth, height, width]`, in words of several numbers.
    pub(super) fn new((level, packing): (Level, Packing), weight: Weight<'_>, shape: VolumeShape) -> Self {
        let ConvShape { inputs, outputs, kernel: [height, width], .. } = shape.frame;
        if are_in_bands(&shape, packing) {
            let weights = Weights::Bands(bands::panels((level, packing), weight, &shape));
            return Self { weights, level, packing, shape, channels: inputs };
        }
        let window = shape.depth * height * width;
        let taps = inputs * window;
        if are_in_place(&shape, packing) {
            let whole = inputs.next_multiple_of(packing.numbers());
            let read = |rows: Range<usize>, numbers: &mut [f32]| {
                weight.with_rows(rows, taps, |weight| {
                    let rows = weight.chunks_exact(taps.max(1)).zip(numbers.chunks_exact_mut((whole * window).max(1)));
                    for (weight, to) in rows {
                        to[..taps].copy_from_slice(weight);
                        to[taps..].fill(0.0);
                    }
                });
            };
            let frame = ConvShape { inputs: whole, before: [0; 2], after: [0; 2], ..shape.frame };
            let filled = VolumeShape { frame, before: 0, after: 0, ..shape };
            let weights = Weights::OnUnit(Box::new(VolumeWindows::new(
                (level, packing),
                Weight::Rows(&read),
                filled,
                Algorithm::Direct,
            )));
            return Self { weights, level, packing, shape, channels: whole };
        }
        // A matrix unit reads rows where they are if they fill its registers.
        let words = if packing.is_for_unit() && MatrixUnit::detect().is_some() { SIDE } else { 1 };
        let row = taps.next_multiple_of(words * packing.rows());
        let read = by_lines(weight, &shape, width * inputs, row);
        let weights = Weights::Patches(PackedLinear::packed((level, packing), Weight::Rows(&read), [outputs, row]));
        Self { weights, level, packing, shape, channels: inputs }
    }

    /// Whether windows of whole numbers in such words are multiplied so: those of few channels, and all without a matrix unit.
    pub(super) fn fits(shape: &VolumeShape, packing: Packing) -> bool {
        shape.frame.has_short_pixels() || are_in_bands(shape, packing)
    }

    /// Whether then any number of channels is filled up to whole words.
    pub(super) fn fills_up(shape: &VolumeShape, packing: Packing) -> bool {
        shape.frame.has_short_pixels() || bands::are_lines(&shape.frame) && are_in_bands(shape, packing)
    }

    /// Whether the images may be words, with the channels last.
    pub(super) fn reads_words(&self) -> bool {
        let is_whole = self.shape.frame.inputs.is_multiple_of(self.packing.numbers());
        matches!(self.weights, Weights::Bands(_)) && self.packing == Packing::Quads && is_whole
    }

    /// Whether the result may be words of what is rounded so.
    pub(super) fn writes_words(&self, rounded: Rounded) -> bool {
        let ConvShape { outputs, groups, .. } = self.shape.frame;
        rounded.is_fast(self.level) && (outputs / groups).is_multiple_of(rounded.numbers())
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.weights {
            Weights::Patches(layer) => layer.bytes(),
            Weights::OnUnit(windows) => windows.bytes(),
            Weights::Bands(panels) => panels.bytes(),
        }
    }

    /// Computes some lines of the output from some lines of the images; all of both if there are several images. What the images are
    /// rounded to is said of whole numbers only.
    ///
    /// # Panics
    /// If an operand is too short, or a line is missing.
    pub(super) fn run_lines(
        &self,
        out: &mut [f32],
        stride: usize,
        images: &Images<'_>,
        (held, lines): (Held, Range<usize>),
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let frame = self.shape.frame;
        let output = [1, lines.len(), frame.output([held.height, images.size[1]])[1]];
        let (read, [across, along]) = frame.lines_around(&lines, held.height);
        let lines = read.start - held.first..read.end - held.first;
        let part = Part { frames: 0..1, lines, width: images.size[1], around: [[0; 2], across, along] };
        // One by one, so that what is copied stays in the cache.
        for image in 0..images.batch {
            let row = image * output[1] * output[2];
            let start = (row * stride).min(out.len());
            let out = &mut out[start..];
            self.run(out, stride, &part, |_| images.one(image), output, &epilogue.at_row(row), written);
        }
    }

    /// Computes all frames of the output of volumes of a depth, height and width. What the volumes are rounded to is said of whole
    /// numbers only.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(super) fn run_volumes(
        &self,
        out: &mut [f32],
        data: &[f32],
        batch: usize,
        size: [usize; 3],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let VolumeShape { frame, before, after, .. } = self.shape;
        let [depth, height, width] = size;
        let output = self.shape.output(size);
        let around = [[before, after], [frame.before[0], frame.after[0]], [frame.before[1], frame.after[1]]];
        let part = Part { frames: 0..depth, lines: 0..height, width, around };
        let (rows, stride) = (output.iter().product::<usize>(), Rounded::len(written.output, frame.outputs));
        let inputs = frame.inputs / if written.left { self.packing.numbers() } else { 1 };
        for volume in 0..batch {
            let image = |index: usize| {
                let data = &data[(volume * depth + index) * height * width * inputs..];
                Images::pixels(data, 1, [height, width], inputs)
            };
            let (out, epilogue) = (&mut out[volume * rows * stride..], epilogue.at_row(volume * rows));
            self.run(out, stride, &part, image, output, &epilogue, written);
        }
    }

    /// Computes the output of some lines of frames.
    #[allow(clippy::too_many_arguments, reason = "as many say what is computed")]
    fn run<'i>(
        &self,
        out: &mut [f32],
        stride: usize,
        part: &Part,
        image: impl Fn(usize) -> Images<'i> + Sync,
        output: [usize; 3],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        if output.contains(&0) {
            return;
        }
        if let Weights::Bands(panels) = &self.weights {
            return self.run_bands(panels, out, stride, part, image, output, epilogue, written);
        }
        let size @ [frames, height, width] = part.size();
        let beyond = if matches!(self.weights, Weights::Patches(_)) { BEYOND } else { 0 };
        let pitch = (width * self.channels).div_ceil(self.packing.numbers()) + beyond;
        scratch(frames * height * pitch, |words| {
            self.write(words, pitch, part, image, written);
            match &self.weights {
                Weights::Patches(layer) => {
                    let lines = (&*words, pitch, height * pitch);
                    self.run_rows(layer, out, stride, lines, output, epilogue, written);
                }
                Weights::OnUnit(windows) => {
                    let (pixel, written) = (self.channels / self.packing.numbers(), Written { left: true, ..written });
                    windows.multiply(out, stride, (words, pixel), 1, size, epilogue, written);
                }
                Weights::Bands(_) => {}
            }
        });
    }
}

/// Whether windows are multiplied where they lie in bands, in such words: without a matrix unit for these.
fn are_in_bands(shape: &VolumeShape, packing: Packing) -> bool {
    bands::fit(shape, packing) && !(packing.is_for_unit() && MatrixUnit::detect().is_some())
}

/// What reads the rows of a weight, `[outputs, inputs, depth, height, width]`, as lines of windows of so many numbers, one after the other: the
/// numbers of each are those of its taps, each with all channels, then zeros.
fn by_lines<'w>(
    weight: Weight<'w>,
    shape: &VolumeShape,
    line: usize,
    row: usize,
) -> impl Fn(Range<usize>, &mut [f32]) + Sync + use<'w> {
    let ConvShape { inputs, kernel: [height, width], .. } = shape.frame;
    let window = shape.depth * height * width;
    let taps = inputs * window;
    move |rows: Range<usize>, numbers: &mut [f32]| {
        numbers.fill(0.0);
        weight.with_rows(rows, taps, |weight| {
            for (weight, to) in weight.chunks_exact(taps.max(1)).zip(numbers.chunks_exact_mut(row.max(1))) {
                for (index, x) in weight.iter().enumerate() {
                    let (channel, tap) = (index / window, index % window);
                    to[tap / width * line + tap % width * inputs + channel] = *x;
                }
            }
        });
    }
}

/// Whether windows of few channels are multiplied where they lie, for a matrix unit takes less time for them than for rows of words: each line
/// of a window has registers of its own then, but none is copied.
pub(super) fn are_in_place(shape: &VolumeShape, packing: Packing) -> bool {
    /// The outputs for which a register takes as long as copying a line of a window does.
    const COPIED: usize = 128;
    let ConvShape { inputs, outputs, kernel: [lines, columns], dilation, .. } = shape.frame;
    let (lines, numbers) = (shape.depth * lines, packing.numbers());
    let (run, row) = (columns * inputs.div_ceil(numbers), (lines * columns * inputs).div_ceil(numbers));
    let more = (lines * run.div_ceil(SIDE)).saturating_sub(row.div_ceil(SIDE));
    let is_sooner = dilation[1] == 1 && run >= SHORTEST && more * outputs <= COPIED * lines;
    is_sooner && packing.is_for_unit() && MatrixUnit::detect().is_some()
}
