//! Convolutions of images or volumes whose windows have few channels, of bf16 or whole numbers: each window is copied to a row of words.
//!
//! The numbers of a line of a window lie side by side, but neither begin with a word nor fill words. In a row of words all lines of
//! a window follow each other, then zeros, and the products of rows are those of a linear layer.

use std::ops::Range;

use super::block::{Rounding, Rows};
use super::conv::{ConvShape, Held};
use super::epilogue::Epilogue;
use super::format::Packing;
use super::images::Images;
use super::linear::PackedLinear;
use super::product::Written;
use super::volumes::VolumeShape;
use super::weight::Weight;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::{Kernel, Level, MatrixUnit, SIDE, Vector, dispatch};
use crate::threads::for_each_piece;

/// The most bytes that are copied at a time: what is beyond a line of a window is written over by what follows it.
const MOST: usize = 64;
/// The words of rows of windows that stay in the cache.
const BAND: usize = 32 * 1024;

/// Weights for windows as rows of words.
#[derive(Debug)]
pub(super) struct Patches {
    layer: PackedLinear,
    level: Level,
    shape: VolumeShape,
    /// The numbers of a word, all of which are multiplied with others.
    numbers: usize,
}

impl Patches {
    /// Packs a weight, `[outputs, inputs, depth, height, width]`, in words of several numbers.
    pub(super) fn new((level, packing): (Level, Packing), weight: Weight<'_>, shape: VolumeShape) -> Self {
        let ConvShape { inputs, outputs, kernel: [height, width], .. } = shape.frame;
        let window = shape.depth * height * width;
        let taps = inputs * window;
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
        let layer = PackedLinear::packed((level, packing), Weight::Rows(&read), [outputs, row]);
        Self { layer, level, shape, numbers: packing.numbers() }
    }

    pub(super) fn shape(&self) -> &VolumeShape {
        &self.shape
    }

    /// Whether the result may be words of what is rounded so.
    pub(super) fn writes_words(&self, rounded: Rounded) -> bool {
        rounded.is_fast(self.level) && self.shape.frame.outputs.is_multiple_of(rounded.numbers())
    }

    pub(super) fn bytes(&self) -> usize {
        self.layer.bytes()
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
        let size = [1, lines.len(), frame.output([held.height, images.size[1]])[1]];
        let (read, padding) = frame.lines_around(&lines, held.height);
        let read = read.start - held.first..read.end - held.first;
        // One by one, so that what is copied stays in the cache.
        for image in 0..images.batch {
            let row = image * size[1] * size[2];
            let start = (row * stride).min(out.len());
            let out = &mut out[start..];
            let pitch = self.pitch(images.size[1], padding[1]);
            scratch((read.len() + padding[0].iter().sum::<usize>()) * pitch, |words| {
                self.round(words, pitch, &images.one(image), (padding, read.clone()), written);
                self.run_words(out, stride, (words, pitch, 0), size, &epilogue.at_row(row), written);
            });
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
        let padding = [[frame.before[0], frame.after[0]], [frame.before[1], frame.after[1]]];
        let (rows, distance) = (output.iter().product::<usize>(), Rounded::len(written.output, frame.outputs));
        let pitch = self.pitch(width, padding[1]);
        let plane = (height + padding[0][0] + padding[0][1]) * pitch;
        for volume in 0..batch {
            let out = &mut out[volume * rows * distance..];
            scratch((before + depth + after) * plane, |words| {
                let zeros = written.whole.map_or(0.0, |quantized| quantized.left.zeros(self.numbers));
                for (index, words) in words.chunks_exact_mut(plane.max(1)).enumerate() {
                    match index.wrapping_sub(before) {
                        frame if frame < depth => {
                            let data = &data[(volume * depth + frame) * height * width * self.shape.frame.inputs..];
                            let image = Images::pixels(data, 1, [height, width], self.shape.frame.inputs);
                            self.round(words, pitch, &image, (padding, 0..height), written);
                        }
                        _ => words.fill(zeros),
                    }
                }
                self.run_words(out, distance, (words, pitch, plane), output, &epilogue.at_row(volume * rows), written);
            });
        }
    }

    /// The words of a line of pixels and their padding, with room to read on.
    fn pitch(&self, width: usize, [before, after]: [usize; 2]) -> usize {
        ((before + width + after) * self.shape.frame.inputs).div_ceil(self.numbers) + MOST / 4
    }

    /// Writes some lines of an image with padding around them as lines of words.
    fn round(
        &self,
        words: &mut [f32],
        pitch: usize,
        image: &Images<'_>,
        (padding, lines): ([[usize; 2]; 2], Range<usize>),
        written: Written<'_>,
    ) {
        let rounding = match written.whole {
            Some(quantized) => Rounding::Words(self.level, self.numbers, quantized.left),
            None => Rounding::Pairs,
        };
        let inputs = self.shape.frame.inputs;
        image.with_padded_pixels(inputs, padding, lines, |image| {
            let (line, work) = (image.size[1] * inputs, 16 * words.len());
            for_each_piece(words, pitch, work, |y, words| {
                let data = &image.data[y * line..];
                Rows { data, stride: line, width: line, rounding }.take(words, pitch);
            });
        });
    }

    /// Applies the convolution to lines of words, which begin so many words apart, as frames do.
    fn run_words(
        &self,
        out: &mut [f32],
        stride: usize,
        lines: (&[f32], usize, usize),
        output: [usize; 3],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let [depth, height, width] = output;
        let (rows, len) = (depth * height * width, self.layer.inputs() / self.numbers);
        let (Some(last), outputs) = (rows.checked_sub(1), self.shape.frame.outputs) else { return };
        let out = &mut out[..last * stride + Rounded::len(written.output, outputs)];
        // Whole lines, so that threads have parts of their own.
        let band = width * (BAND / (width * len).max(1)).clamp(1, height);
        let work = 2 * rows * self.layer.inputs() * outputs;
        for_each_piece(out, band * stride, work, |index, out| {
            let rows = index * band..rows.min((index + 1) * band);
            scratch(rows.len() * len + MOST / 4, |patches| {
                self.fill(patches, lines, [height, width], rows.clone());
                let (epilogue, written) = (epilogue.at_row(rows.start), Written { left: true, ..written });
                self.layer.compute(out, stride, (patches, len), rows.len(), &epilogue, written);
            });
        });
    }

    /// Copies the windows of some pixels of the output.
    fn fill(
        &self,
        patches: &mut [f32],
        (words, pitch, plane): (&[f32], usize, usize),
        size: [usize; 2],
        rows: Range<usize>,
    ) {
        let VolumeShape { frame, depth, stride: frame_step, dilation: apart, .. } = self.shape;
        let ConvShape { inputs, kernel, stride, dilation, .. } = frame;
        // The bytes of a number and of a pixel.
        let each = 4 / self.numbers;
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
            zeros: (self.layer.inputs() - depth * kernel[0] * kernel[1] * inputs) * each,
        };
        dispatch(self.level, copy);
    }
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
