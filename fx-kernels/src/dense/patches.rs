//! Convolutions of images or volumes whose windows have few channels, of bf16 or whole numbers.
//!
//! The numbers of a line of a window lie side by side, but neither begin with a word nor fill words. So each window is copied to a row of
//! words, in which all its lines follow each other, then zeros, and the products of rows are those of a linear layer. Where a matrix unit
//! takes lines of windows where they lie, pixels are filled up to whole words instead.

use std::ops::Range;

use super::algorithm::Algorithm;
use super::block::Rows;
use super::conv::Held;
use super::epilogue::Epilogue;
use super::format::Packing;
use super::images::{Images, Layout};
use super::linear::PackedLinear;
use super::matrix_unit::SHORTEST;
use super::product::Written;
use super::shape::ConvShape;
use super::volumes::{VolumeShape, VolumeWindows};
use super::weight::Weight;
use crate::copy::{copy, transpose_filled};
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::{Kernel, Level, MatrixUnit, SIDE, Vector, dispatch};
use crate::threads::for_each_piece;

/// The most bytes that are copied at a time: what is beyond a line of a window is written over by what follows it.
const MOST: usize = 64;
/// The words of rows of windows that stay in the cache.
const BAND: usize = 32 * 1024;

/// Weights for windows of few channels.
#[derive(Debug)]
pub(super) struct Patches {
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
    Rows(PackedLinear),
    /// Of windows where they lie, of pixels that are whole words.
    Windows(Box<VolumeWindows>),
}

impl Patches {
    /// Packs a weight, `[outputs, inputs, depth, height, width]`, in words of several numbers.
    pub(super) fn new((level, packing): (Level, Packing), weight: Weight<'_>, shape: VolumeShape) -> Self {
        let ConvShape { inputs, outputs, kernel: [height, width], .. } = shape.frame;
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
            let weights = Weights::Windows(Box::new(VolumeWindows::new(
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
        let read = |rows: Range<usize>, numbers: &mut [f32]| {
            numbers.fill(0.0);
            weight.with_rows(rows, taps, |weight| {
                let rows = weight.chunks_exact(taps.max(1)).zip(numbers.chunks_exact_mut(row.max(1)));
                for (weight, to) in rows {
                    for (index, x) in weight.iter().enumerate() {
                        let (channel, tap) = (index / window, index % window);
                        to[tap * inputs + channel] = *x;
                    }
                }
            });
        };
        let weights = Weights::Rows(PackedLinear::packed((level, packing), Weight::Rows(&read), [outputs, row]));
        Self { weights, level, packing, shape, channels: inputs }
    }

    pub(super) fn shape(&self) -> &VolumeShape {
        &self.shape
    }

    /// Whether the result may be words of what is rounded so.
    pub(super) fn writes_words(&self, rounded: Rounded) -> bool {
        rounded.is_fast(self.level) && self.shape.frame.outputs.is_multiple_of(rounded.numbers())
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.weights {
            Weights::Rows(layer) => layer.bytes(),
            Weights::Windows(windows) => windows.bytes(),
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
        let padded = Padded { frames: 1, lines, width: images.size[1], around: [[0; 2], across, along] };
        // One by one, so that what is copied stays in the cache.
        for image in 0..images.batch {
            let row = image * output[1] * output[2];
            let start = (row * stride).min(out.len());
            let out = &mut out[start..];
            self.run(out, stride, &padded, |_| images.one(image), output, &epilogue.at_row(row), written);
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
        let padded = Padded { frames: depth, lines: 0..height, width, around };
        let (rows, stride) = (output.iter().product::<usize>(), Rounded::len(written.output, frame.outputs));
        for volume in 0..batch {
            let image = |index: usize| {
                let data = &data[(volume * depth + index) * height * width * frame.inputs..];
                Images::pixels(data, 1, [height, width], frame.inputs)
            };
            let (out, epilogue) = (&mut out[volume * rows * stride..], epilogue.at_row(volume * rows));
            self.run(out, stride, &padded, image, output, &epilogue, written);
        }
    }

    /// Computes the output of some lines of frames, which are made words.
    #[allow(clippy::too_many_arguments, reason = "as many say what is computed")]
    fn run<'i>(
        &self,
        out: &mut [f32],
        stride: usize,
        padded: &Padded,
        image: impl Fn(usize) -> Images<'i> + Sync,
        output: [usize; 3],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let size @ [frames, height, width] = padded.size();
        if output.contains(&0) {
            return;
        }
        // Where windows are copied there is room to read on.
        let beyond = if matches!(self.weights, Weights::Rows(_)) { MOST / 4 } else { 0 };
        let pitch = (width * self.channels).div_ceil(self.packing.numbers()) + beyond;
        scratch(frames * height * pitch, |words| {
            self.round(words, pitch, padded, image, written);
            match &self.weights {
                Weights::Rows(layer) => {
                    let lines = (&*words, pitch, height * pitch);
                    self.run_rows(layer, out, stride, lines, output, epilogue, written);
                }
                Weights::Windows(windows) => {
                    let (pixel, written) = (self.channels / self.packing.numbers(), Written { left: true, ..written });
                    windows.multiply(out, stride, (words, pixel), 1, size, epilogue, written);
                }
            }
        });
    }

    /// Writes lines of images with what is around them as lines of words.
    fn round<'i>(
        &self,
        words: &mut [f32],
        pitch: usize,
        padded: &Padded,
        image: impl Fn(usize) -> Images<'i> + Sync,
        written: Written<'_>,
    ) {
        let Padded { frames, lines, around: [[front, _], [above, _], [left, _]], .. } = padded;
        let [_, height, width] = padded.size();
        let rounding = written.rounding(self.level, self.packing);
        let padding = written.padding(self.packing);
        let (inputs, channels) = (self.shape.frame.inputs, self.channels);
        let work = 16 * words.len();
        for_each_piece(words, pitch, work, |index, words| {
            let (frame, y) = ((index / height).wrapping_sub(*front), (index % height).wrapping_sub(*above));
            if frame >= *frames || y >= lines.len() {
                return words.fill(padding);
            }
            scratch(width * channels, |numbers| {
                let image = image(frame);
                let [_, line, pixel, channel] = image.strides(inputs);
                let (before, rest) = numbers.split_at_mut(left * channels);
                let (inside, after) = rest.split_at_mut(padded.width * channels);
                [before, after].into_iter().for_each(|outside| outside.fill(0.0));
                let data = &image.data[(lines.start + y) * line..];
                match image.layout {
                    Layout::Planes => transpose_filled(inside, channels, data, channel, [inputs, padded.width]),
                    Layout::Pixels { distance } if distance == channels && inputs == channels => {
                        inside.copy_from_slice(&data[..inside.len()]);
                    }
                    Layout::Pixels { .. } => {
                        inside.fill(0.0);
                        copy(inside, &[channels, 1], data, &[pixel, channel], &[padded.width, inputs]);
                    }
                }
                let width = numbers.len();
                Rows { data: numbers, stride: width, width, rounding }.take(words, pitch);
            });
        });
    }

    /// Applies the convolution to lines of words, which begin so many words apart, as frames do, by copying windows.
    #[allow(clippy::too_many_arguments, reason = "as many say what is computed")]
    fn run_rows(
        &self,
        layer: &PackedLinear,
        out: &mut [f32],
        stride: usize,
        lines: (&[f32], usize, usize),
        output: [usize; 3],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let [depth, height, width] = output;
        let (rows, len) = (depth * height * width, layer.inputs() / self.packing.numbers());
        let (Some(last), outputs) = (rows.checked_sub(1), self.shape.frame.outputs) else { return };
        let out = &mut out[..last * stride + Rounded::len(written.output, outputs)];
        // Whole lines, so that threads have parts of their own.
        let band = width * (BAND / (width * len).max(1)).clamp(1, height);
        let work = 2 * rows * layer.inputs() * outputs;
        for_each_piece(out, band * stride, work, |index, out| {
            let rows = index * band..rows.min((index + 1) * band);
            scratch(rows.len() * len + MOST / 4, |patches| {
                self.fill(patches, len, lines, [height, width], rows.clone());
                let (epilogue, written) = (epilogue.at_row(rows.start), Written { left: true, ..written });
                layer.compute(out, stride, (patches, len), rows.len(), &epilogue, written);
            });
        });
    }

    /// Copies the windows of some pixels of the output to rows of so many words.
    fn fill(
        &self,
        patches: &mut [f32],
        row: usize,
        (words, pitch, plane): (&[f32], usize, usize),
        size: [usize; 2],
        rows: Range<usize>,
    ) {
        let VolumeShape { frame, depth, stride: frame_step, dilation: apart, .. } = self.shape;
        let ConvShape { inputs, kernel, stride, dilation, .. } = frame;
        // The bytes of a number and of a pixel.
        let each = 4 / self.packing.numbers();
        let pixel = inputs * each;
        // The taps of a line are one piece, or one each: how many, how long, and how far apart where they are read.
        let (pieces, len, across) = match dilation[1] {
            1 => (1, kernel[1] * pixel, 0),
            apart => (kernel[1], pixel, apart * pixel),
        };
        let copy = Copy {
            words,
            patches,
            rows,
            size,
            steps: [4 * frame_step * plane, 4 * stride[0] * pitch, stride[1] * pixel],
            pieces: [depth, kernel[0], pieces],
            distances: [4 * apart * plane, 4 * dilation[0] * pitch, across],
            len,
            zeros: 4 * row - depth * kernel[0] * kernel[1] * pixel,
        };
        dispatch(self.level, copy);
    }
}

/// Lines of frames, and what is around them that windows see.
struct Padded {
    frames: usize,
    lines: Range<usize>,
    width: usize,
    /// The frames before and after, what is above and below, and on the left and on the right.
    around: [[usize; 2]; 3],
}

impl Padded {
    /// The frames, lines and pixels of a line with what is around.
    fn size(&self) -> [usize; 3] {
        let inner = [self.frames, self.lines.len(), self.width];
        [0, 1, 2].map(|axis| inner[axis] + self.around[axis].iter().sum::<usize>())
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

/// Copies of some windows, one after the other. What is not counted otherwise is in bytes.
struct Copy<'a> {
    /// Where they are read, and written.
    words: &'a [f32],
    patches: &'a mut [f32],
    /// Which windows, and how many lines of them are in a frame, and windows in a line.
    rows: Range<usize>,
    size: [usize; 2],
    /// From window to window: from frame to frame, down and across.
    steps: [usize; 3],
    /// The pieces of a window along the same axes, and from one to the next.
    pieces: [usize; 3],
    distances: [usize; 3],
    /// The length of a piece.
    len: usize,
    /// What follows the pieces of a window.
    zeros: usize,
}

impl Copy<'_> {
    /// Copies so many bytes at a time, and so many times for a piece.
    #[inline(always)]
    fn run_by<const CHUNK: usize>(self, chunks: usize) {
        let Self { words, patches, rows, size: [height, width], steps, pieces, distances, len, zeros } = self;
        assert!(zeros <= MOST, "zeros are written at once");
        let Some(last) = rows.len().checked_sub(1) else { return };
        // Beyond the last chunk of a window that is read, and of the rows that are written.
        let lines = rows.end.div_ceil(width);
        let farthest = [(lines - 1) / height, lines.min(height) - 1, width - 1];
        let reach = (0..3).map(|i| farthest[i] * steps[i] + pieces[i].saturating_sub(1) * distances[i]);
        let read = reach.sum::<usize>() + chunks * CHUNK;
        let row = pieces.iter().product::<usize>() * len + zeros;
        let written = last * row + row + MOST;
        assert!(
            read <= size_of_val(words) && written <= size_of_val(patches),
            "there is room to read on and to write on"
        );
        let (from, mut to) = (words.as_ptr().cast::<u8>(), patches.as_mut_ptr().cast::<u8>());
        let place = |line: usize| line / height * steps[0] + line % height * steps[1];
        let (mut y, mut x) = (rows.start / width, rows.start % width);
        let mut line = place(y);
        for _ in rows {
            let mut front = from.wrapping_add(line + x * steps[2]);
            for _ in 0..pieces[0] {
                let mut down = front;
                for _ in 0..pieces[1] {
                    let mut piece = down;
                    for _ in 0..pieces[2] {
                        for chunk in 0..chunks {
                            let (piece, to) = (piece.wrapping_add(chunk * CHUNK), to.wrapping_add(chunk * CHUNK));
                            // SAFETY: both are within the words (seen above), which do not overlap.
                            unsafe {
                                to.cast::<[u8; CHUNK]>().write_unaligned(piece.cast::<[u8; CHUNK]>().read_unaligned());
                            }
                        }
                        (piece, to) = (piece.wrapping_add(distances[2]), to.wrapping_add(len));
                    }
                    down = down.wrapping_add(distances[1]);
                }
                front = front.wrapping_add(distances[0]);
            }
            // SAFETY: as above.
            unsafe { to.cast::<[u8; MOST]>().write_unaligned([0; MOST]) };
            (to, x) = (to.wrapping_add(zeros), x + 1);
            if x == width {
                (y, x) = (y + 1, 0);
                line = place(y);
            }
        }
    }
}

impl Kernel for Copy<'_> {
    type Elem = f32;
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = f32>>(self) {
        match self.len {
            ..=16 => self.run_by::<16>(1),
            17..=32 => self.run_by::<32>(1),
            33..=MOST => self.run_by::<MOST>(1),
            len => self.run_by::<MOST>(len.div_ceil(MOST)),
        }
    }
}
