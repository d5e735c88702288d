//! Convolutions whose windows have few channels, of bf16 or whole numbers: each window is copied to a row of words.
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
    shape: ConvShape,
    /// The numbers of a word, all of which are multiplied with others.
    numbers: usize,
}

impl Patches {
    /// Packs a weight, `[outputs, inputs, height, width]`, in words of several numbers.
    pub(super) fn new((level, packing): (Level, Packing), weight: Weight<'_>, shape: ConvShape) -> Self {
        let ConvShape { inputs, outputs, kernel: [height, width], .. } = shape;
        let taps = inputs * height * width;
        // A matrix unit reads rows where they are if they fill its registers.
        let words = if packing.is_for_unit() && MatrixUnit::detect().is_some() { SIDE } else { 1 };
        let row = taps.next_multiple_of(words * packing.rows());
        let read = |rows: Range<usize>, numbers: &mut [f32]| {
            numbers.fill(0.0);
            weight.with_rows(rows, taps, |weight| {
                let rows = weight.chunks_exact(taps.max(1)).zip(numbers.chunks_exact_mut(row.max(1)));
                for (weight, to) in rows {
                    for (index, x) in weight.iter().enumerate() {
                        let (channel, tap) = (index / (height * width), index % (height * width));
                        to[tap * inputs + channel] = *x;
                    }
                }
            });
        };
        let layer = PackedLinear::packed((level, packing), Weight::Rows(&read), [outputs, row]);
        Self { layer, level, shape, numbers: packing.numbers() }
    }

    pub(super) fn level(&self) -> Level {
        self.level
    }

    pub(super) fn shape(&self) -> &ConvShape {
        &self.shape
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
        let inputs = self.shape.inputs;
        let size = [lines.len(), self.shape.output([held.height, images.size[1]])[1]];
        let (read, padding) = self.shape.lines_around(&lines, held.height);
        let read = read.start - held.first..read.end - held.first;
        let rounding = match written.whole {
            Some(quantized) => Rounding::Words(self.level, self.numbers, quantized.left),
            None => Rounding::Pairs,
        };
        // One by one, so that what is copied stays in the cache.
        for image in 0..images.batch {
            let row = image * size[0] * size[1];
            let start = (row * stride).min(out.len());
            let out = &mut out[start..];
            images.one(image).with_padded_pixels(inputs, padding, read.clone(), |image| {
                // Lines of words, with room to read on.
                let line = image.size[1] * inputs;
                let pitch = line.div_ceil(self.numbers) + MOST / 4;
                scratch(image.size[0] * pitch, |words| {
                    for_each_piece(words, pitch, 16 * words.len(), |y, words| {
                        let data = &image.data[y * line..];
                        Rows { data, stride: line, width: line, rounding }.take(words, pitch);
                    });
                    self.run_words(out, stride, (words, pitch), size, &epilogue.at_row(row), written);
                });
            });
        }
    }

    /// Applies the convolution to lines of words, which begin so many words apart.
    fn run_words(
        &self,
        out: &mut [f32],
        stride: usize,
        lines: (&[f32], usize),
        [height, width]: [usize; 2],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let (rows, len) = (height * width, self.layer.inputs() / self.numbers);
        let (Some(last), outputs) = (rows.checked_sub(1), self.shape.outputs) else { return };
        let out = &mut out[..last * stride + Rounded::len(written.output, outputs)];
        // Whole lines, so that threads have parts of their own.
        let band = width * (BAND / (width * len).max(1)).clamp(1, height);
        let work = 2 * rows * self.layer.inputs() * outputs;
        for_each_piece(out, band * stride, work, |index, out| {
            let rows = index * band..rows.min((index + 1) * band);
            scratch(rows.len() * len + MOST / 4, |patches| {
                self.fill(patches, lines, width, rows.clone());
                let (epilogue, written) = (epilogue.at_row(rows.start), Written { left: true, ..written });
                self.layer.compute(out, stride, (patches, len), rows.len(), &epilogue, written);
            });
        });
    }

    /// Copies the windows of some pixels of the output.
    fn fill(&self, patches: &mut [f32], (words, pitch): (&[f32], usize), width: usize, rows: Range<usize>) {
        let ConvShape { inputs, kernel, stride, dilation, .. } = self.shape;
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
            width,
            steps: [4 * stride[0] * pitch, stride[1] * pixel],
            pieces: [kernel[0], pieces],
            distances: [4 * dilation[0] * pitch, across],
            len,
            zeros: (self.layer.inputs() - kernel[0] * kernel[1] * inputs) * each,
        };
        dispatch(self.level, copy);
    }
}

/// Copies of some windows, one after the other. What is not counted otherwise is in bytes.
struct Copy<'a> {
    /// Where they are read, and written.
    words: &'a [f32],
    patches: &'a mut [f32],
    /// Which windows, and how many are in a line.
    rows: Range<usize>,
    width: usize,
    /// From window to window, down and across.
    steps: [usize; 2],
    /// The pieces of a window, down and across, and from one to the next.
    pieces: [usize; 2],
    distances: [usize; 2],
    /// The length of a piece.
    len: usize,
    /// What follows the pieces of a window.
    zeros: usize,
}

impl Copy<'_> {
    /// Copies so many bytes at a time, and so many times for a piece.
    #[inline(always)]
    fn run_by<const CHUNK: usize>(self, chunks: usize) {
        let Self { words, patches, rows, width, steps, pieces, distances, len, zeros } = self;
        assert!(zeros <= MOST, "zeros are written at once");
        let Some(last) = rows.len().checked_sub(1) else { return };
        // Beyond the last chunk of a window that is read, and of the rows that are written.
        let corner = (rows.end - 1) / width * steps[0] + (width - 1) * steps[1];
        let read = corner + (0..2).map(|i| pieces[i].saturating_sub(1) * distances[i]).sum::<usize>() + chunks * CHUNK;
        let row = pieces[0] * pieces[1] * len + zeros;
        let written = last * row + row + MOST;
        assert!(
            read <= size_of_val(words) && written <= size_of_val(patches),
            "there is room to read on and to write on"
        );
        let (from, mut to) = (words.as_ptr().cast::<u8>(), patches.as_mut_ptr().cast::<u8>());
        let (mut line, mut x) = (rows.start / width * steps[0], rows.start % width);
        for _ in rows {
            let mut down = from.wrapping_add(line + x * steps[1]);
            for _ in 0..pieces[0] {
                let mut piece = down;
                for _ in 0..pieces[1] {
                    for chunk in 0..chunks {
                        let (piece, to) = (piece.wrapping_add(chunk * CHUNK), to.wrapping_add(chunk * CHUNK));
                        // SAFETY: both are within the words (seen above), which do not overlap.
                        unsafe {
                            to.cast::<[u8; CHUNK]>().write_unaligned(piece.cast::<[u8; CHUNK]>().read_unaligned());
                        }
                    }
                    (piece, to) = (piece.wrapping_add(distances[1]), to.wrapping_add(len));
                }
                down = down.wrapping_add(distances[0]);
            }
            // SAFETY: as above.
            unsafe { to.cast::<[u8; MOST]>().write_unaligned([0; MOST]) };
            (to, x) = (to.wrapping_add(zeros), x + 1);
            if x == width {
                (line, x) = (line + steps[0], 0);
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
