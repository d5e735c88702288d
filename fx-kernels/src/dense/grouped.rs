//! Convolutions in groups of few channels, with windows of 3 by 3.
//!
//! A vector of a pixel's channels belongs to several groups. It is multiplied as it lies, with weights of the outputs whose lanes differ
//! from its own in some bits that stay within the group; there is a sum for each such order of the lanes, and in the end these are put
//! in the outputs' order and added. So each lane does what counts, and no group meets another's numbers.
//!
//! Where a group has more channels than such bits give, but no whole vectors of them, its channels are so many blocks.
//!
//! Pairs of bf16 are half as many words: each group's are in its lanes twice, and are multiplied so.

mod lines;

use std::ops::Range;

use half::bf16;

use super::epilogue::Epilogue;
use super::format::Format;
use super::format::Packing;
use super::left::{Left, Windows};
use super::panels::tile_size;
use super::product::Written;
use super::shape::ConvShape;
use super::weight::Weight;
use crate::elementwise::run_rows;
use crate::memory::{Lines, scratch};
use crate::rounded::Rounded;
use crate::simd::{Level, MatrixUnit, has_pairs};
use crate::threads::{Shared, for_each, shared_out};

/// The lines and columns of a window.
const SIDE: usize = 3;
const TAPS: usize = SIDE * SIDE;
/// The fewest channels of a group.
const LEAST: usize = 4;
/// The most channels of a group: of more, lanes that panels leave empty are few.
const MOST: usize = 56;
/// The numbers of a part's lines, with those of the image that they are computed from: they stay in the second-level cache.
const CACHED: usize = 128 * 1024;
/// The tasks that make a fair share for each of a few threads likely.
const TASKS: usize = 8;

/// The weights of a convolution whose groups are joined in vectors.
///
/// For each vector of outputs, for each block of inputs, for each line of the window, for each order of the lanes, for each column: a
/// vector of weights, for the inputs as they lie.
#[derive(Debug)]
pub(crate) struct Grouped {
    level: Level,
    lanes: usize,
    /// All channels, and those of a group.
    channels: usize,
    group: usize,
    /// The lanes that words of one group fill wherever it begins.
    block: usize,
    /// How many blocks of lanes a group is.
    planes: usize,
    /// Whether all are words of pairs.
    in_pairs: bool,
    weights: Lines,
}

/// What is computed: windows of so many images, and what is done with the sums; the images and the result may be words of pairs.
pub(crate) struct Job<'a> {
    pub(crate) windows: Windows<'a>,
    pub(crate) batch: usize,
    pub(crate) epilogue: &'a Epilogue<'a>,
    pub(crate) written: Written<'a>,
}

impl Job<'_> {
    /// The words, or numbers, that so many channels of the result are.
    fn columns(&self, channels: usize) -> usize {
        Rounded::len(self.written.output, channels)
    }
}

impl Grouped {
    /// Packs a weight, which may be kept in a format; None where a product for each group is as fast.
    pub(crate) fn new(level: Level, weight: Weight<'_>, shape: &ConvShape, format: Format) -> Option<Self> {
        let in_pairs = format == Format::Bf16 && Self::fits_pairs(level, shape);
        Self::fits(level, shape).then(|| Self::packed((level, tile_size(level).1), weight, shape, in_pairs))
    }

    /// Whether numbers are multiplied faster than pairs of bf16 are, of which a panel would have as many as a vector has outputs, or fewer;
    /// a matrix unit takes longer for very few only.
    pub(crate) fn are_faster_than_pairs(level: Level, shape: &ConvShape) -> bool {
        /// The most channels of such a group, beside vectors of pairs and beside a unit.
        const FEW: usize = 8;
        const FEW_ON_UNIT: usize = 4;
        let is_few = |few: usize| shape.inputs / shape.groups <= few;
        is_few(FEW) && Self::fits(level, shape) && (is_few(FEW_ON_UNIT) || MatrixUnit::detect().is_none())
    }

    /// Whether pairs are multiplied so, too: where a vector has whole groups, and there is no matrix unit.
    pub(super) fn fits_pairs(level: Level, shape: &ConvShape) -> bool {
        let (group, lanes) = (shape.inputs / shape.groups, tile_size(level).1);
        let is_joined = has_pairs(level) && block(group, lanes) == group && MatrixUnit::detect().is_none();
        is_joined && Self::fits(level, shape)
    }

    /// Whether panels of a group would have one vector or lanes that are empty, the windows are those that there is a version for, and the
    /// level has an instruction for orders of lanes.
    pub(super) fn fits(level: Level, shape: &ConvShape) -> bool {
        let (_, lanes) = tile_size(level);
        let ConvShape { inputs, outputs, kernel, stride, dilation, groups, .. } = *shape;
        let group = inputs / groups;
        let block = block(group, lanes);
        let (windows, ordered) = (kernel == [SIDE; 2] && dilation == [1; 2], level >= Level::Avx2);
        let joined =
            inputs == outputs && groups > 1 && block >= LEAST && group <= MOST && (group <= lanes || block < lanes);
        joined && windows && ordered && matches!(stride[1], 1 | 2)
    }

    fn packed((level, lanes): (Level, usize), weight: Weight<'_>, shape: &ConvShape, in_pairs: bool) -> Self {
        let channels = shape.outputs;
        let group = channels / shape.groups;
        let numbers = if in_pairs { 2 } else { 1 };
        let (row, block) = (group * TAPS, block(group, lanes) / numbers);
        let words = row / numbers;
        let mut weights = Lines::together(channels.div_ceil(lanes) * words * lanes);
        let packed = weights.numbers_mut();
        for some in weight.few(0..channels, row) {
            weight.with_rows(some.clone(), row, |numbers| {
                for (output, numbers) in some.zip(numbers.chunks_exact(row)) {
                    let (vector, lane) = (output / lanes, output % lanes);
                    for (place, packed) in
                        packed[vector * words * lanes..][..words * lanes].chunks_exact_mut(lanes).enumerate()
                    {
                        let (order, column) = (place / SIDE % block, place % SIDE);
                        let (plane, line) = (place / (TAPS * block), place / (SIDE * block) % SIDE);
                        let word = plane * block + ((lane % block) ^ order);
                        let weight = |input: usize| numbers[input * TAPS + line * SIDE + column];
                        packed[lane ^ order] =
                            if in_pairs { pair([2 * word, 2 * word + 1].map(weight)) } else { weight(word) };
                    }
                }
            });
        }
        Self { level, lanes, channels, group, block, planes: group / (numbers * block), in_pairs, weights }
    }

    /// What all words are.
    pub(crate) fn packing(&self) -> Packing {
        if self.in_pairs { Packing::Pairs } else { Packing::Single }
    }

    /// The bytes of the weights.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.weights.numbers())
    }

    /// Computes all windows, into rows that are `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short, or added to what is words.
    pub(crate) fn run(&self, job: &Job<'_>, out: &mut [f32], stride: usize) {
        let Windows { input, output: [height, width], pixel, stride: [step, _], .. } = job.windows;
        let (rows, channels) = (job.batch * height * width, self.channels);
        if rows == 0 {
            return;
        }
        let Written { left, output, .. } = job.written;
        assert!(self.in_pairs || !left && output.is_none(), "numbers are multiplied, not words");
        assert!(output.is_none() || !job.epilogue.accumulate, "nothing is added to words");
        let (read, columns) = (if left { channels / 2 } else { channels }, job.columns(channels));
        assert!(Left::Windows(job.windows).covers(rows, read), "the images are too short");
        assert!(stride >= columns && (rows - 1) * stride + columns <= out.len(), "the result does not fit");
        job.epilogue.check(rows, channels);
        let out = Shared(out.as_mut_ptr());
        let lines = (CACHED / (width * stride + input[1] * pixel * step)).clamp(1, height);
        let (bands, vectors) = (height.div_ceil(lines), channels.div_ceil(self.lanes));
        let parts = shared_out(TASKS).div_ceil(job.batch * bands).min(vectors);
        for_each(job.batch * bands * parts, 2 * rows * channels * self.group * TAPS, |task| {
            let (band, part) = (task / parts, task % parts);
            let (image, start) = (band / bands, band % bands * lines);
            let lines = start..height.min(start + lines);
            let vectors = part * vectors / parts..(part + 1) * vectors / parts;
            let first = vectors.start * self.lanes;
            let (rows, columns) = (lines.len() * width, channels.min(vectors.end * self.lanes) - first);
            scratch(lines::room(self, job), |room| {
                let part = Part { image, lines, vectors };
                // SAFETY: the operands hold all rows and channels (just seen), and no other task has these channels of the lines.
                unsafe { lines::run(self, job, &part, (out.at(0), stride), room) };
            });
            if let Some(function) = job.epilogue.function().filter(|_| output.is_none()) {
                let to = out.at((image * height + start) * width * stride + first);
                // SAFETY: as above.
                unsafe { run_rows(self.level, function, to, rows, stride, columns) };
            }
        });
    }
}

/// A word of two numbers.
fn pair(numbers: [f32; 2]) -> f32 {
    let [low, high] = numbers.map(|x| u32::from(bf16::from_f32(x).to_bits()));
    f32::from_bits(high << 16 | low)
}

/// The lanes that channels of one group fill wherever it begins in a vector.
fn block(group: usize, lanes: usize) -> usize {
    1 << group.trailing_zeros().min(lanes.ilog2())
}

/// Some lines of an image of the output, and some vectors of channels.
struct Part {
    image: usize,
    lines: Range<usize>,
    vectors: Range<usize>,
}
