//! Windows that are multiplied where they lie in a copy of some lines, which stays in the cache. All lines of a window are runs at the same
//! places from where it begins, be it within a word.

use std::slice::from_raw_parts_mut;

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
use crate::threads::{Shared, WORTH_WHILE, for_each, num_threads, shared_out};

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
        let row = Rounded::len(written.output, outputs);
        let out = Shared(out[..(frames * height * width - 1) * stride + row].as_mut_ptr());
        let Band { frames: deep_each, together, lines: high_each } = band(&axes, pitch, fewest);
        let (size, bands) = (size_of::<f32>(), height.div_ceil(high_each));
        for_each(frames.div_ceil(deep_each) * bands, work, |index| {
            let part = |index: usize, each: usize, of: usize| index * each..of.min((index + 1) * each);
            let some_frames = part(index / bands, deep_each, frames);
            let some_lines = part(index % bands, high_each, height);
            let lines = high.reached(&some_lines);
            let (plane, held) = (lines.len() * pitch, deep.reached(&(0..together)).len());
            let all_read = deep.reached(&some_frames);
            // The last run may end within a row of the panel.
            scratch(held * plane + self.packing.left(), |words| {
                words[held * plane..].fill(0.0);
                let mut copied = all_read.start;
                for frame in some_frames.clone().step_by(together) {
                    let now = frame..some_frames.end.min(frame + together);
                    let read = deep.reached(&now);
                    // Each takes the place of one that is not seen any more.
                    let place = |frame: usize| (frame - all_read.start) % held * plane;
                    for frame in read.start.max(copied)..read.end {
                        let to = &mut words[place(frame)..][..plane];
                        self.write(to, pitch, &all.part(&(frame..frame + 1), &lines), &image, written);
                    }
                    copied = read.end;
                    let first = (frame * height + some_lines.start) * width;
                    let inside = Inside {
                        data: words,
                        output: [some_lines.len(), width],
                        steps: [
                            step * plane * size,
                            steps[0] * pitch * size,
                            steps[1] * self.channels * size / numbers,
                        ],
                        places: &self.places(pitch, |tap| place(read.start + tap)),
                        axes,
                        first: [frame, some_lines.start],
                    };
                    let (rows, epilogue) = (now.len() * some_lines.len() * width, epilogue.at_row(first));
                    let written = Written { left: true, ..written };
                    let product = Product { written, ..Product::new(Left::Inside(inside), rows, panels, &epilogue) };
                    // SAFETY: the result has these rows (it was cut to all of them), which no other band has.
                    let out = unsafe { from_raw_parts_mut(out.at(first * stride), (rows - 1) * stride + row) };
                    product.run(out, stride);
                }
            });
        });
    }

    /// Where the runs of a window are in a copy whose lines are `pitch` words apart and whose frames, counted from the first that the window sees,
    /// are at places of their own.
    fn places(&self, pitch: usize, frame_at: impl Fn(usize) -> usize) -> SmallVec<[usize; 32]> {
        let VolumeShape { frame, depth, dilation, .. } = self.shape;
        let ConvShape { inputs, kernel, dilation: [down, across], .. } = frame;
        let taps = if are_lines(&frame) { 1 } else { kernel[1] };
        let tap = across * inputs / self.packing.numbers();
        let frames = (0..depth).map(|i| frame_at(i * dilation));
        let lines = frames.flat_map(|frame| (0..kernel[0]).map(move |j| frame + j * down * pitch));
        lines.flat_map(|line| (0..taps).map(move |index| line + index * tap)).collect()
    }
}

/// How much of the output a band has.
struct Band {
    /// The frames.
    frames: usize,
    /// How many of these are computed at a time.
    together: usize,
    /// The lines of each.
    lines: usize,
}

/// The bands that are best, with lines of so many words: those whose copy the cache holds, in equal parts of which there are a few at least, by which clearly less is
/// copied. Of some lines of all frames, each is copied once, as it is seen; of whole frames, those that two bands see are copied for both.
fn band([deep, high]: &[Axis; 2], pitch: usize, fewest: usize) -> Band {
    let most = second_level() / (2 * size_of::<f32>());
    let fitting = |axis: &Axis, len: usize| {
        let window = axis.reached(&(0..1)).len();
        (most / len.max(1)).checked_sub(window).map_or(0, |more| more / axis.stride + 1)
    };
    let equal = |axis: &Axis, many: usize| {
        let bands = shared_out(axis.output.div_ceil(many.max(1)).max(fewest)).min(axis.output);
        axis.output.div_ceil(bands)
    };
    let reached = |axis: &Axis, each: usize| axis.output.div_ceil(each) * axis.reached(&(0..each)).len();
    let (all, fits) = (deep.output, fitting(deep, reached(high, high.output) * pitch));
    let frames = equal(deep, fits);
    let lines = equal(high, fitting(high, deep.reached(&(0..1)).len() * pitch));
    let [by_frames, by_lines] =
        [(frames, high.output), (all, lines)].map(|(frames, lines)| reached(deep, frames) * reached(high, lines));
    // Measured: a fifth less does not make up for a product of each frame.
    match fits > 0 && all >= fewest && 3 * by_frames <= 4 * by_lines {
        true => Band { frames, together: frames, lines: high.output },
        false => Band { frames: all, together: 1, lines },
    }
}
