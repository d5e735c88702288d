//! Windows that are multiplied where they lie in a copy of some lines, which stays in the cache. All lines of a window are runs at the same
//! places from where it begins, be it within a word.

use std::ops::Range;

use smallvec::SmallVec;

use super::super::epilogue::Epilogue;
use super::super::format::Packing;
use super::super::images::Images;
use super::super::left::{Axis, Inside, Left};
use super::super::panels::{Matrices, Panels};
use super::super::product::{Product, Written};
use super::super::shape::ConvShape;
use super::super::volumes::VolumeShape;
use super::super::weight::Weight;
use super::part::Part;
use super::{PaddedConv, by_lines};
use crate::memory::{scratch, second_level};
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::{WORTH_WHILE, for_each_piece, num_threads, shared_out};

/// Whether windows are multiplied so, in such words: those of whole numbers, if runs are whole words or a window's lines.
pub(super) fn fit(shape: &VolumeShape, packing: Packing) -> bool {
    /// The channels of a group from which on finding where each tap begins takes less time than copying, which the lines above and below that are
    /// left out do not need. Measured: of 128 it takes longer, of 256 less.
    const MANY: usize = 192;
    let (channels, taps) = shape.row();
    let is_whole = channels.is_multiple_of(packing.rows());
    let is_shorter = if is_whole { channels < MANY } else { are_lines(&shape.frame) };
    packing.is_whole() && taps > 1 && is_shorter
}

/// Whether the numbers of a line of a window lie side by side.
pub(super) fn are_lines(frame: &ConvShape) -> bool {
    frame.groups == 1 && frame.dilation[1] == 1
}

/// Packs the weights of such windows.
pub(super) fn panels((level, packing): (Level, Packing), weight: Weight<'_>, shape: &VolumeShape) -> Panels {
    if !are_lines(&shape.frame) {
        return shape.panels((level, packing), weight);
    }
    let ConvShape { inputs, outputs, kernel: [height, width], .. } = shape.frame;
    let line = (width * inputs).next_multiple_of(packing.rows());
    let row = shape.depth * height * line;
    let read = by_lines(weight, shape, line, row);
    let (weight, rows) = (Weight::Rows(&read), (0..row).collect::<Vec<_>>());
    let matrix = Matrices { weight, groups: 1, distance: 0, rows: &rows, columns: outputs, step: row };
    Panels::new((level, packing), &matrix)
}

impl PaddedConv {
    /// Applies the convolution to a part of the images, band after band.
    #[allow(clippy::too_many_arguments, reason = "as many say what is computed")]
    pub(super) fn run_bands<'i>(
        &self,
        panels: &Panels,
        out: &mut [f32],
        stride: usize,
        all: &Part,
        image: impl Fn(usize) -> Images<'i> + Sync,
        output: [usize; 3],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let VolumeShape { frame, stride: step, .. } = self.shape;
        let ConvShape { outputs, kernel, stride: steps, dilation: apart, groups, .. } = frame;
        let [frames, height, width] = output;
        let numbers = self.packing.numbers();
        // Lines begin with a row of the panel.
        let pitch = (all.size()[2] * self.channels).next_multiple_of(self.packing.rows()) / numbers;
        let lines = Axis {
            input: all.lines.len(),
            output: height,
            kernel: kernel[0],
            stride: steps[0],
            dilation: apart[0],
            before: all.around[1][0],
        };
        let axes @ [deep, high] = [self.shape.frames(all.frames.len()), lines];
        let work = 2 * frames * height * width * panels.inner() * panels.columns() * groups;
        // Each thread reads what it has copied.
        let fewest = if work < WORTH_WHILE { 1 } else { num_threads() };
        let (are_frames, together) = split(&axes, pitch, fewest);
        let row = Rounded::len(written.output, outputs);
        let band = |out: &mut [f32], [some_frames, some_lines]: [Range<usize>; 2]| {
            let first = (some_frames.start * height + some_lines.start) * width;
            let (read, lines) = (deep.reached(&some_frames), high.reached(&some_lines));
            let plane = lines.len() * pitch;
            // The last run may end within a row of the panel.
            scratch(read.len() * plane + self.packing.left(), |words| {
                let (copied, beyond) = words.split_at_mut(read.len() * plane);
                beyond.fill(0.0);
                self.write(copied, pitch, &all.part(&read, &lines), &image, written);
                let size = size_of::<f32>();
                let inside = Inside {
                    data: words,
                    output: [some_lines.len(), width],
                    steps: [step * plane * size, steps[0] * pitch * size, steps[1] * self.channels * size / numbers],
                    places: &self.places(pitch, plane),
                    axes,
                    first: [some_frames.start, some_lines.start],
                };
                let (rows, epilogue) = (some_frames.len() * some_lines.len() * width, epilogue.at_row(first));
                let written = Written { left: true, ..written };
                Product { written, ..Product::new(Left::Inside(inside), rows, panels, &epilogue) }.run(out, stride);
            });
        };
        let out = &mut out[..(frames * height * width - 1) * stride + row];
        if are_frames {
            for_each_piece(out, together * height * width * stride, work, |index, out| {
                band(out, [index * together..frames.min((index + 1) * together), 0..height]);
            });
            return;
        }
        let len = height * width * stride;
        for (frame, out) in out.chunks_mut(len).enumerate() {
            for_each_piece(out, together * width * stride, work / frames, |index, out| {
                band(out, [frame..frame + 1, index * together..height.min((index + 1) * together)]);
            });
        }
    }

    /// Where the runs of a window are in a copy whose lines are `pitch` words apart and whose frames are `plane`.
    fn places(&self, pitch: usize, plane: usize) -> SmallVec<[usize; 32]> {
        let VolumeShape { frame, depth, dilation, .. } = self.shape;
        let ConvShape { inputs, kernel, dilation: [down, across], .. } = frame;
        let taps = if are_lines(&frame) { 1 } else { kernel[1] };
        let tap = across * inputs / self.packing.numbers();
        let lines = (0..depth).flat_map(|i| (0..kernel[0]).map(move |j| i * dilation * plane + j * down * pitch));
        lines.flat_map(|line| (0..taps).map(move |index| line + index * tap)).collect()
    }
}

/// Whether a band has whole frames of the output, and how many of these, or how many lines of one: those whose copy, with lines of so many words,
/// the cache holds, in equal parts of which there are a few at least.
fn split([deep, high]: &[Axis; 2], pitch: usize, fewest: usize) -> (bool, usize) {
    let most = second_level() / (2 * size_of::<f32>());
    let fitting = |axis: &Axis, len: usize| {
        let window = axis.reached(&(0..1)).len();
        (most / len.max(1)).checked_sub(window).map_or(0, |more| more / axis.stride + 1)
    };
    let equal = |axis: &Axis, many: usize| {
        let bands = shared_out(axis.output.div_ceil(many.max(1)).max(fewest)).min(axis.output);
        axis.output.div_ceil(bands)
    };
    let frames = fitting(deep, high.reached(&(0..high.output)).len() * pitch);
    match frames > 0 && deep.output >= fewest {
        true => (true, equal(deep, frames)),
        false => (false, equal(high, fitting(high, deep.reached(&(0..1)).len() * pitch))),
    }
}
