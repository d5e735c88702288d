//! Windows that are copied, each to a row of words.
//!
//! The numbers of a line of a window lie side by side, but neither begin with a word nor fill words. In a row all lines of a window follow each
//! other, then zeros, and the products of rows are those of a linear layer.

use std::ops::Range;

use super::super::epilogue::Epilogue;
use super::super::linear::PackedLinear;
use super::super::product::Written;
use super::super::shape::ConvShape;
use super::super::volumes::VolumeShape;
use super::PaddedConv;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::{Kernel, Vector, dispatch};
use crate::threads::for_each_piece;

/// The most bytes that are copied at a time: what is beyond a line of a window is written over by what follows it.
const MOST: usize = 64;
/// The words of rows of windows that stay in the cache.
const BAND: usize = 32 * 1024;
/// The words beyond a line that may be read.
pub(super) const BEYOND: usize = MOST / 4;

impl PaddedConv {
    /// Applies the convolution to lines of words, which begin so many words apart, as frames do, by copying windows.
    #[allow(clippy::too_many_arguments, reason = "as many say what is computed")]
    pub(super) fn run_rows(
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
            scratch(rows.len() * len + BEYOND, |patches| {
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
