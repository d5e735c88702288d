//! Convolutions of whole numbers whose windows have few channels: each window is copied to a row of words.
//!
//! The numbers of a line of a window lie side by side, but neither begin with a word nor come in fours. A row of words has so
//! many for each line, and its products are those of a linear layer.

use std::ops::Range;

use super::super::conv::ConvShape;
use super::super::epilogue::Epilogue;
use super::super::format::Packing;
use super::super::images::Images;
use super::super::linear::PackedLinear;
use super::super::product::Quantized;
use super::super::weight::Weight;
use crate::memory::scratch;
use crate::quantization::round_to_words;
use crate::simd::Level;
use crate::threads::for_each_piece;

/// The bytes that are copied at a time: what is beyond a line of a window is written over by the next one.
const CHUNK: usize = 32;
/// The words of rows of windows that stay in the cache.
const BAND: usize = 16 * 1024;

/// Weights for windows as rows of bytes.
#[derive(Debug)]
pub(super) struct Patches {
    layer: PackedLinear,
    level: Level,
    shape: ConvShape,
    /// The numbers of a line of a window, in fours.
    run: usize,
    /// The bytes of a number.
    each: usize,
}

impl Patches {
    /// Packs a weight of whole numbers, `[outputs, inputs, height, width]`, whose taps are side by side.
    pub(super) fn new((level, packing): (Level, Packing), weight: &[i8], shape: ConvShape) -> Self {
        let ConvShape { inputs, outputs, kernel: [height, width], .. } = shape;
        let run = (width * inputs).next_multiple_of(4);
        let read = |rows: Range<usize>, numbers: &mut [f32]| {
            numbers.fill(0.0);
            for (row, to) in rows.zip(numbers.chunks_exact_mut((height * run).max(1))) {
                let taps = weight[row * inputs * height * width..].chunks_exact(width).take(inputs * height);
                for (index, taps) in taps.enumerate() {
                    let (channel, line) = (index / height, index % height);
                    for (tap, x) in taps.iter().enumerate() {
                        to[line * run + tap * inputs + channel] = f32::from(*x);
                    }
                }
            }
        };
        let size = [outputs, height * run];
        let layer = PackedLinear::packed((level, packing), Weight::Rows(&read), size);
        Self { each: 4 / packing.numbers(), layer, level, shape, run }
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

    /// Applies the convolution to images.
    pub(super) fn run(
        &self,
        out: &mut [f32],
        stride: usize,
        images: &Images<'_>,
        quantized: Quantized<'_>,
        epilogue: &Epilogue<'_>,
    ) {
        let ConvShape { inputs, before, after, .. } = self.shape;
        let quantized = Quantized { is_written: true, ..quantized };
        let [height, width] = self.shape.output(images.size);
        let padding = [[before[0], after[0]], [before[1], after[1]]];
        for image in 0..images.batch {
            let row = image * height * width;
            let start = (row * stride).min(out.len());
            let out = &mut out[start..];
            images.one(image).with_padded_pixels(inputs, padding, |image| {
                // Lines of bytes, with room to read on.
                let line = image.size[1] * inputs;
                let pitch = (line * self.each).div_ceil(4) + CHUNK / 4;
                scratch(image.size[0] * pitch, |words| {
                    for_each_piece(words, pitch, 16 * words.len(), |y, words| {
                        round_to_words(
                            (self.level, 4 / self.each),
                            quantized.left,
                            words,
                            pitch,
                            &image.data[y * line..],
                            0,
                            line,
                        );
                    });
                    self.run_bytes(out, stride, (words, pitch), [height, width], quantized, &epilogue.at_row(row));
                });
            });
        }
    }

    /// Applies the convolution to lines of bytes, which begin so many words apart.
    fn run_bytes(
        &self,
        out: &mut [f32],
        stride: usize,
        lines: (&[f32], usize),
        [height, width]: [usize; 2],
        quantized: Quantized<'_>,
        epilogue: &Epilogue<'_>,
    ) {
        let (rows, len) = (height * width, self.layer.inputs() * self.each / 4);
        let (Some(last), outputs) = (rows.checked_sub(1), self.shape.outputs) else { return };
        let row = if quantized.output.is_some() { outputs / 4 } else { outputs };
        let out = &mut out[..last * stride + row];
        // Whole lines, so that threads have parts of their own.
        let band = width * (BAND / (width * len).max(1)).clamp(1, height);
        let work = 2 * rows * self.layer.inputs() * outputs;
        for_each_piece(out, band * stride, work, |index, out| {
            let rows = index * band..rows.min((index + 1) * band);
            scratch(rows.len() * len + CHUNK / 4, |patches| {
                self.fill(patches, lines, width, rows.clone());
                let epilogue = epilogue.at_row(rows.start);
                self.layer.compute(out, stride, (patches, len), rows.len(), &epilogue, Some(quantized));
            });
        });
    }

    /// Copies the windows of some pixels of the output.
    fn fill(&self, patches: &mut [f32], (words, pitch): (&[f32], usize), width: usize, rows: Range<usize>) {
        let ConvShape { inputs, kernel, stride, dilation, .. } = self.shape;
        let [pixel, run] = [inputs * self.each, self.run * self.each];
        // The taps of a line are one piece, or one each: how many, how long, and how far apart where they are read.
        let (pieces, len, distance) = match dilation[1] {
            1 => (1, run, 0),
            apart => (kernel[1], pixel, apart * pixel),
        };
        let (from, to) = (words.as_ptr().cast::<u8>(), patches.as_mut_ptr().cast::<u8>());
        let (mut place, end) = (0, 4 * patches.len());
        for row in rows {
            let [y, x] = [row / width * stride[0], row % width * stride[1]];
            for line in 0..kernel[0] {
                for piece in 0..pieces {
                    let start = 4 * pitch * (y + line * dilation[0]) + x * pixel + piece * distance;
                    for chunk in (0..len).step_by(CHUNK) {
                        let [start, place] = [start + chunk, place + piece * len + chunk];
                        assert!(start + CHUNK <= 4 * words.len() && place + CHUNK <= end);
                        // SAFETY: both are within the words (just seen), which do not overlap.
                        unsafe {
                            let bytes = from.add(start).cast::<[u8; CHUNK]>().read_unaligned();
                            to.add(place).cast::<[u8; CHUNK]>().write_unaligned(bytes);
                        }
                    }
                }
                place += run;
            }
        }
    }
}
