//! Convolutions of volumes whose frames of the result are sums of convolutions of frames.

use std::ops::Range;

use smallvec::SmallVec;

use super::super::algorithm::Algorithm;
use super::super::conv::PackedConv;
use super::super::epilogue::Epilogue;
use super::super::format::Format;
use super::super::images::Images;
use super::super::shape::ConvShape;
use super::super::weight::Weight;
use super::super::words::Words;
use super::VolumeShape;
use crate::memory::scratch;
use crate::simd::Level;
use crate::threads::for_each_large_piece;

/// The numbers of frames of the result that stay in the cache while what windows see of each frame is added to them.
const FRAMES: usize = 256 * 1024;

/// Weights for each frame that a window sees.
#[derive(Debug)]
pub(super) struct FrameSums {
    shape: VolumeShape,
    convs: Vec<PackedConv>,
}

impl FrameSums {
    /// Packs a weight, `[outputs, inputs of a group, depth, height, width]`.
    pub(super) fn new(
        level: Level,
        weight: Weight<'_>,
        shape: VolumeShape,
        (algorithm, format): (Algorithm, Format),
    ) -> Self {
        let (channels, taps) = shape.frame.row();
        let (row, all) = (channels * taps, channels * taps * shape.depth);
        let pack = |depth: usize, weight: Weight<'_>| {
            let read = |rows: Range<usize>, numbers: &mut [f32]| {
                weight.with_rows(rows, all, |weight| {
                    for (weight, to) in weight.chunks_exact(all).zip(numbers.chunks_exact_mut(row)) {
                        let channels = weight.chunks_exact(taps * shape.depth).zip(to.chunks_exact_mut(taps));
                        channels.for_each(|(from, to)| to.copy_from_slice(&from[depth * taps..][..taps]));
                    }
                });
            };
            PackedConv::at(level, Weight::Rows(&read), shape.frame, algorithm, format)
        };
        // What is made as it is read is made once, not for each frame that a window sees.
        let made = if shape.depth > 1 { weight.made(shape.frame.outputs, all) } else { None };
        let weight = made.as_deref().map_or(weight, Weight::Numbers);
        Self { shape, convs: (0..shape.depth).map(|depth| pack(depth, weight)).collect() }
    }

    /// The convolution, if a window sees one frame.
    pub(super) fn only(&self) -> Option<&PackedConv> {
        self.convs.first().filter(|_| self.convs.len() == 1)
    }

    /// The algorithm by which frames with so many pixels of the output are computed.
    pub(super) fn algorithm(&self, pixels: usize) -> Algorithm {
        self.convs.first().map_or(Algorithm::Direct, |conv| conv.algorithm(pixels))
    }

    /// The type in which the weights are kept.
    pub(super) fn format(&self) -> Format {
        self.convs.first().map_or(Format::F32, PackedConv::format)
    }

    /// The bytes of the packed weights.
    pub(super) fn bytes(&self) -> usize {
        self.convs.iter().map(PackedConv::bytes).sum()
    }

    /// Applies the convolution to volumes, as [`VolumeConv::run_words`](super::VolumeConv::run_words) does; operands are words only where a
    /// window sees one frame.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(super) fn run(
        &self,
        out: &mut [f32],
        data: &[f32],
        batch: usize,
        size: [usize; 3],
        words: Words,
        epilogue: &Epilogue<'_>,
    ) {
        let VolumeShape { frame, .. } = self.shape;
        let [depth, height, width] = self.shape.output(size);
        let (pixels, read) = (height * width, size[1] * size[2] * words.input_len(frame.inputs));
        let written = pixels * words.output_len(frame.outputs);
        assert!(data.len() >= batch * size[0] * read, "the volumes are too short");
        assert!(out.len() >= batch * depth * written, "the result does not fit");
        let together = (FRAMES / written.max(1)).max(1);
        let (channels, taps) = self.shape.row();
        let work = 2 * depth * pixels * frame.outputs * channels * taps;
        for volume in 0..batch {
            let data = &data[volume * size[0] * read..][..size[0] * read];
            let out = &mut out[volume * depth * written..][..depth * written];
            for_each_large_piece(out, together * written, work, |index, out| {
                let first = index * together;
                let frames = first..depth.min(first + together);
                for tap in 0..self.shape.depth {
                    for run in self.runs(frames.clone(), tap, size[0]) {
                        let at = run.frames.start - first;
                        let epilogue = run.epilogue(&epilogue.at_row((volume * depth + run.frames.start) * pixels));
                        let out = &mut out[at * written..][..run.frames.len() * written];
                        self.add_seen(out, (data, words), tap, &run, [size[1], size[2]], &epilogue);
                    }
                }
            });
        }
    }

    /// The frames, of some, that see one with a tap, in runs of neighbours of which the same is to be done, and that see neighbours.
    fn runs(&self, some: Range<usize>, tap: usize, depth: usize) -> SmallVec<[Run; 4]> {
        let (mut runs, frames) = (SmallVec::<[Run; 4]>::new(), self.shape.frames(depth));
        for frame in some {
            let (taps, seen) = (frames.taps(frame), frames.seen(frame, tap));
            let (is_first, is_last) = (taps.start == tap, taps.end == tap + 1);
            if !taps.contains(&tap) {
                continue;
            }
            let next = Run { frames: frame..frame + 1, seen, is_first, is_last };
            match runs.last_mut() {
                Some(run) if run.goes_on(&next) => run.frames.end += 1,
                _ => runs.push(next),
            }
        }
        runs
    }

    /// The convolutions of what some frames see with a tap.
    fn add_seen(
        &self,
        out: &mut [f32],
        (data, words): (&[f32], Words),
        tap: usize,
        run: &Run,
        size: [usize; 2],
        epilogue: &Epilogue<'_>,
    ) {
        let ConvShape { inputs, outputs, .. } = self.shape.frame;
        let (inputs, outputs) = (words.input_len(inputs), words.output_len(outputs));
        let len = size[0] * size[1] * inputs;
        let mut compute = |data: &[f32], batch: usize| {
            let images = Images::pixels(data, batch, size, inputs);
            self.convs[tap].run_words(out, outputs, &images, words, epilogue);
        };
        match run.seen {
            Some(seen) => compute(&data[seen * len..][..run.frames.len() * len], run.frames.len()),
            None => scratch(len, |zeros| {
                zeros.fill(0.0);
                compute(zeros, 1);
            }),
        }
    }
}

/// Frames of the result to which what they see with a tap is added.
struct Run {
    frames: Range<usize>,
    /// The first frame that is seen; none where a window sees nothing at all.
    seen: Option<usize>,
    /// Whether nothing was added to them before, and whether nothing will be.
    is_first: bool,
    is_last: bool,
}

impl Run {
    /// Whether another one follows this one in all respects.
    fn goes_on(&self, next: &Run) -> bool {
        let follows = self.frames.end == next.frames.start
            && self.seen.is_some_and(|seen| next.seen == Some(seen + self.frames.len()));
        follows && (self.is_first, self.is_last) == (next.is_first, next.is_last)
    }

    /// What is done with sums now, of all that is to be done with them.
    fn epilogue<'a>(&self, all: &Epilogue<'a>) -> Epilogue<'a> {
        let begun = if self.is_first { *all } else { Epilogue { accumulate: true, ..Epilogue::default() } };
        Epilogue { activation: all.activation.filter(|_| self.is_last), ..begun }
    }
}
