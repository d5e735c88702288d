//! Windows along a line, or a column, which is a line whose pixels are as far apart as an image is wide.
//!
//! Those of four to nine taps are windows of 3 by 3: of an image whose lines are three steps of the line each, one after
//! the other. A tap is so many lines below and so many pixels beside the first one, where it lies in what comes after the line.

use super::super::algorithm::Algorithm;
use super::super::epilogue::Epilogue;
use super::super::left::Windows;
use super::super::shape::ConvShape;
use super::super::weight::Weight;
use super::Winograd;
use super::grid::{Grid, first_of};
use crate::memory::scratch;
use crate::simd::Level;
use crate::threads::{Shared, for_each};

/// The taps that are below each other, and side by side, and all of them.
const SIDE: usize = 3;
const TAPS: usize = SIDE * SIDE;

impl Winograd {
    /// Whether tiles are lines, for windows of three taps along one. What is read and written of few channels takes as long as the products.
    pub(crate) fn is_line(shape: &ConvShape) -> bool {
        shape.kernel == [1, 3] && shape.before[0] + shape.after[0] == 0 && !shape.has_short_pixels()
    }

    /// The same along lines, if windows are along columns.
    pub(crate) fn turned(shape: &ConvShape) -> Option<ConvShape> {
        let turn = |[y, x]: [usize; 2]| [x, y];
        let ConvShape { kernel, stride, dilation, before, after, .. } = *shape;
        (kernel[0] > 1 && kernel[1] == 1).then(|| ConvShape {
            kernel: turn(kernel),
            stride: turn(stride),
            dilation: turn(dilation),
            before: turn(before),
            after: turn(after),
            ..*shape
        })
    }

    /// Whether the lines of a convolution's images can be folded.
    pub(crate) fn folds(shape: &ConvShape) -> bool {
        let ConvShape { kernel, stride, before, after, .. } = *shape;
        let is_along = kernel[0] == 1 && (SIDE + 1..=TAPS).contains(&kernel[1]);
        is_along && stride == [1; 2] && before[0] + after[0] == 0 && Self::fits(&image(shape))
    }

    /// Packs a weight in PyTorch's layout for windows over images, or along lines or columns of these. None if the algorithm is not for such windows, or
    /// [`new`](Self::new) gives none.
    pub(crate) fn of_images(level: Level, weight: Weight<'_>, algorithm: Algorithm, shape: &ConvShape) -> Option<Self> {
        let shape = &Self::turned(shape).unwrap_or(*shape);
        match Self::folds(shape) {
            true => Self::of_lines(level, weight, algorithm, shape),
            false => Self::fits(shape).then(|| Self::new(level, weight, algorithm, shape, 1)).flatten(),
        }
    }

    /// Packs a weight in PyTorch's layout for folded lines. None if the algorithm is another one, or [`new`](Self::new) gives none.
    fn of_lines(level: Level, weight: Weight<'_>, algorithm: Algorithm, shape: &ConvShape) -> Option<Self> {
        if algorithm != Algorithm::Winograd4 {
            return None;
        }
        let ((channels, taps), outputs) = (shape.row(), shape.outputs);
        weight.with_rows(0..outputs, channels * taps, |numbers| {
            let mut filled = vec![0.0; outputs * channels * TAPS];
            let rows = filled.chunks_exact_mut(TAPS).zip(numbers.chunks_exact(taps));
            rows.for_each(|(to, from)| to[..taps].copy_from_slice(from));
            let packed = Self::new(level, Weight::Numbers(&filled), algorithm, &image(shape), 1)?;
            Some(packed.along_lines(taps))
        })
    }

    /// As [`run`](Self::run), of lines that are folded, whose pixels are some distance apart.
    pub(super) fn run_folded(
        &self,
        out: &mut [f32],
        stride: usize,
        batch: usize,
        windows: Windows<'_>,
        epilogue: &Epilogue<'_>,
        apart: usize,
    ) {
        let Windows { data, input: [height, width], pixel, output: [_, pixels], before, .. } = windows;
        let (inputs, dilation, lines) = (self.inputs(), windows.dilation[1], batch * height);
        if lines * pixels == 0 {
            return;
        }
        let across = SIDE * dilation;
        let below = pixels.div_ceil(across);
        // Windows see two lines more, and the last of these what comes after it; tiles may reach as far into what comes after that.
        let seen = below + SIDE;
        let (len, rest) = (seen * across * inputs, 2 * dilation * inputs);
        assert!((lines * width - 1) * pixel + inputs <= data.len(), "the images are too short");
        scratch(lines * len + rest, |folded| {
            folded[lines * len..].fill(0.0);
            let to = Shared(folded.as_mut_ptr());
            for_each(lines, lines * len, |line| {
                // SAFETY: each line has a stretch of its own.
                let to = unsafe { std::slice::from_raw_parts_mut(to.at(line * len), len) };
                let (start, end) = (before[1] * inputs, ((before[1] + width) * inputs).min(len));
                to[..start.min(len)].fill(0.0);
                to[end..].fill(0.0);
                let from = data[first_of(line, width, apart) * pixel..].chunks(apart * pixel);
                to.get_mut(start..end)
                    .into_iter()
                    .flat_map(|to| to.chunks_exact_mut(inputs))
                    .zip(from)
                    .for_each(|(to, from)| to.copy_from_slice(&from[..inputs]));
            });
            let windows = Windows {
                data: folded,
                input: [seen, across],
                pixel: inputs,
                output: [below, across],
                kernel: [SIDE; 2],
                dilation: [1, dilation],
                before: [0; 2],
                ..windows
            };
            let grid = Grid::of_line(pixels, dilation, 4).apart([1, apart]);
            self.run_tiles::<4, 6, true>(out, stride, lines, windows, &grid, epilogue);
        });
    }
}

/// Windows along lines, so many images, and the distance of a line's pixels: each column is an image of one line.
pub(super) fn along(windows: Windows<'_>, batch: usize) -> (Windows<'_>, usize, usize) {
    let Windows { input: [height, width], output, kernel, dilation, before, .. } = windows;
    if kernel[1] > 1 {
        return (windows, batch, 1);
    }
    let windows = Windows {
        input: [1, height],
        output: [1, output[0]],
        kernel: [1, kernel[0]],
        dilation: [1, dilation[0]],
        before: [0, before[0]],
        ..windows
    };
    (windows, batch * width, width)
}

/// The convolution of an image that lines are folded to.
fn image(shape: &ConvShape) -> ConvShape {
    let dilation = [1, shape.dilation[1]];
    ConvShape { kernel: [SIDE; 2], dilation, before: [0; 2], after: [0; 2], ..*shape }
}
