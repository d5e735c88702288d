//! Convolutions of volumes with the channels last: each frame of the result is a sum of convolutions of frames.

mod transposed;

use std::ops::Range;

use smallvec::SmallVec;

use super::algorithm::Algorithm;
use super::conv::{ConvShape, PackedConv};
use super::epilogue::Epilogue;
use super::format::Format;
use super::images::Images;
use super::weight::Weight;
use super::words::Words;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::for_each_piece;

pub use transposed::{TransposedVolumeConv, TransposedVolumeShape};

/// The numbers of frames of the result that stay in the cache while what windows see of each frame is added to them.
const FRAMES: usize = 256 * 1024;

/// The sizes of a convolution of volumes that do not depend on the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VolumeShape {
    /// Of what a window sees of a frame.
    pub frame: ConvShape,
    /// The frames that a window sees.
    pub depth: usize,
    /// The step of the window from frame to frame.
    pub stride: usize,
    /// The distance between the frames that it sees.
    pub dilation: usize,
    /// The padding before the first frame.
    pub before: usize,
    /// The padding after the last frame.
    pub after: usize,
}

/// The weights of a convolution of volumes, packed.
///
/// ```
/// use fx_kernels::dense::{Algorithm, ConvShape, Epilogue, Format, VolumeConv, VolumeShape, Weight};
///
/// // The sum of each two frames of a video with one channel.
/// let frame = ConvShape::pointwise(1, 1);
/// let shape = VolumeShape { frame, depth: 2, stride: 1, dilation: 1, before: 0, after: 0 };
/// let conv = VolumeConv::new(Weight::Numbers(&[1.0; 2]), shape, Algorithm::Direct, Format::F32);
/// let video = [1.0, 2.0, 10.0, 20.0, 100.0, 200.0];
/// let mut out = [0.0; 4];
/// conv.run(&mut out, &video, 1, [3, 1, 2], &Epilogue::default());
/// assert_eq!(out, [11.0, 22.0, 110.0, 220.0]);
/// ```
#[derive(Debug)]
pub struct VolumeConv {
    shape: VolumeShape,
    /// For each frame that a window sees.
    convs: Vec<PackedConv>,
}

impl VolumeShape {
    /// The depth, height and width of the output for an input's; 0 where the window does not fit.
    pub fn output(&self, [depth, height, width]: [usize; 3]) -> [usize; 3] {
        let (window, padded) = (self.dilation * (self.depth.max(1) - 1) + 1, depth + self.before + self.after);
        let depth = if padded < window { 0 } else { (padded - window) / self.stride + 1 };
        let [height, width] = self.frame.output([height, width]);
        [depth, height, width]
    }

    /// The frame that a window sees with a tap, if it is there.
    fn seen(&self, frame: usize, tap: usize, depth: usize) -> Option<usize> {
        (frame * self.stride + tap * self.dilation).checked_sub(self.before).filter(|seen| *seen < depth)
    }

    /// The taps with which a window sees frames: of one that sees none, the first.
    fn taps(&self, frame: usize, depth: usize) -> Range<usize> {
        let sees = |tap: &usize| self.seen(frame, *tap, depth).is_some();
        let first = (0..self.depth).find(sees).unwrap_or(0);
        first..(0..self.depth).rfind(sees).unwrap_or(0) + 1
    }
}

impl VolumeConv {
    /// Packs a weight in PyTorch's layout: outputs, inputs of a group, depth, height, width; for an algorithm and in a format as
    /// [`PackedConv::with`] does.
    ///
    /// # Panics
    /// If the weight has another length, or the groups do not divide the channels.
    pub fn new(weight: Weight<'_>, shape: VolumeShape, algorithm: Algorithm, format: Format) -> Self {
        Self::at(Level::detect(), weight, shape, algorithm, format)
    }

    /// As [`new`](Self::new), for instructions of the given level.
    pub(super) fn at(
        level: Level,
        weight: Weight<'_>,
        shape: VolumeShape,
        algorithm: Algorithm,
        format: Format,
    ) -> Self {
        let (channels, taps) = shape.frame.row();
        let (row, all) = (channels * taps, channels * taps * shape.depth);
        weight.check(shape.frame.outputs, all);
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

    /// The sizes.
    pub fn shape(&self) -> &VolumeShape {
        &self.shape
    }

    /// The algorithm by which frames with so many pixels of the output are computed.
    pub fn algorithm(&self, pixels: usize) -> Algorithm {
        self.convs.first().map_or(Algorithm::Direct, |conv| conv.algorithm(pixels))
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        self.convs.first().map_or(Format::F32, PackedConv::format)
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        self.convs.iter().map(PackedConv::bytes).sum()
    }

    /// Applies the convolution to so many volumes of a depth, height and width, with the channels last and without gaps, as those of
    /// the output.
    ///
    /// # Panics
    /// If an operand is too short.
    pub fn run(&self, out: &mut [f32], data: &[f32], batch: usize, size: [usize; 3], epilogue: &Epilogue<'_>) {
        self.run_words(out, data, batch, size, Words::default(), epilogue);
    }

    /// Whether the volumes may be [words](Words) of pairs of bf16.
    pub fn reads_words(&self) -> bool {
        self.convs.iter().all(PackedConv::reads_words)
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        self.convs.iter().all(|conv| conv.writes_words(rounded))
    }

    /// As [`run`](Self::run), with volumes and a result that may be words.
    ///
    /// # Panics
    /// As there, or if an operand [cannot be](Self::reads_words) [words](Self::writes_words), or something is added to words.
    pub fn run_words(
        &self,
        out: &mut [f32],
        data: &[f32],
        batch: usize,
        size: [usize; 3],
        words: Words,
        epilogue: &Epilogue<'_>,
    ) {
        words.check(self.reads_words(), false, |rounded| self.writes_words(rounded));
        assert!(words.output.is_none() || !epilogue.accumulate, "numbers are not added to words");
        let VolumeShape { frame, .. } = self.shape;
        let [depth, height, width] = self.shape.output(size);
        let (pixels, read) = (height * width, size[1] * size[2] * words.input_len(frame.inputs));
        let (numbers, written) = (pixels * frame.outputs, pixels * words.output_len(frame.outputs));
        assert!(data.len() >= batch * size[0] * read, "the volumes are too short");
        assert!(out.len() >= batch * depth * written, "the result does not fit");
        let together = (FRAMES / numbers.max(1)).max(1);
        for volume in 0..batch {
            let data = &data[volume * size[0] * read..][..size[0] * read];
            for first in (0..depth).step_by(together) {
                let frames = first..depth.min(first + together);
                let at = volume * depth + first;
                let (out, epilogue) =
                    (&mut out[at * written..][..frames.len() * written], epilogue.at_row(at * pixels));
                match words.output {
                    None => self.frames(out, (data, words), frames, size, &epilogue),
                    // Sums are rounded once they have all that windows see, while they are in the cache.
                    Some(rounded) => scratch(frames.len() * numbers, |sums| {
                        self.frames(sums, (data, words), frames.clone(), size, &epilogue);
                        for_each_piece(out, written, 4 * sums.len(), |frame, out| {
                            let (to, from) = (out.as_mut_ptr(), sums[frame * numbers..].as_ptr());
                            // SAFETY: a frame has so many numbers, and so many words.
                            unsafe { rounded.write(self.convs[0].level(), (to, 0), (from, 0), [1, numbers]) };
                        });
                    }),
                }
            }
        }
    }

    /// Some frames of the result of a volume.
    fn frames(
        &self,
        out: &mut [f32],
        (data, words): (&[f32], Words),
        frames: Range<usize>,
        [depth, height, width]: [usize; 3],
        epilogue: &Epilogue<'_>,
    ) {
        let pixels: usize = self.shape.frame.output([height, width]).iter().product();
        let numbers = pixels * self.shape.frame.outputs;
        for tap in 0..self.shape.depth {
            for run in self.runs(frames.clone(), tap, depth) {
                let at = run.frames.start - frames.start;
                let out = &mut out[at * numbers..][..run.frames.len() * numbers];
                let epilogue = run.epilogue(&epilogue.at_row(at * pixels));
                self.add_seen(out, (data, words), tap, &run, [height, width], &epilogue);
            }
        }
    }

    /// The frames, of some, that see one with a tap, in runs of neighbours of which the same is to be done, and that see neighbours.
    fn runs(&self, frames: Range<usize>, tap: usize, depth: usize) -> SmallVec<[Run; 4]> {
        let mut runs = SmallVec::<[Run; 4]>::new();
        for frame in frames {
            let (taps, seen) = (self.shape.taps(frame, depth), self.shape.seen(frame, tap, depth));
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
        let (inputs, outputs) = (words.input_len(self.shape.frame.inputs), self.shape.frame.outputs);
        let words = Words { output: None, ..words };
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
