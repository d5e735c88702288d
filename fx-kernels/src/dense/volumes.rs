//! Convolutions of volumes with the channels last: a product of what windows see of all frames, or for each frame of the result a sum of
//! convolutions of frames.

mod frames;
mod transposed;
mod windows;

use self::frames::FrameSums;
use super::algorithm::Algorithm;
use super::conv::PackedConv;
use super::depthwise::{Depthwise, TapWeights};
use super::epilogue::Epilogue;
use super::format::{Format, Packing};
use super::left::{Axis, Windows};
use super::padded::PaddedConv;
use super::panels::{Matrices, Panels};
use super::shape::ConvShape;
use super::two_pixels::{self, TwoPixels};
use super::weight::Weight;
use super::winograd::Winograd;
use super::words::Words;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::Level;

pub use transposed::{TransposedVolumeConv, TransposedVolumeShape};
pub(super) use windows::VolumeWindows;

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
    weights: Weights,
}

/// Packed weights, by the way that the convolution is computed.
#[derive(Debug)]
enum Weights {
    /// Transformed, of windows that see several frames.
    Winograd(Winograd),
    /// As one product.
    Windows(VolumeWindows),
    /// As a product of windows of few channels, in lines of words.
    Padded(PaddedConv),
    /// A number for each tap and channel, each of which is on its own.
    Depthwise { level: Level, weights: TapWeights },
    /// As a sum of convolutions, one for each frame that a window sees.
    Frames(FrameSums),
    /// Of two pixels at once, of windows that see several frames.
    TwoPixels(Box<TwoPixels<VolumeConv>>),
}

impl VolumeShape {
    /// The convolution of images, as volumes of one frame.
    pub(super) fn of_images(frame: ConvShape) -> Self {
        Self { frame, depth: 1, stride: 1, dilation: 1, before: 0, after: 0 }
    }

    /// The same, with so many groups together as one.
    pub(super) fn joined(&self, together: usize) -> Self {
        Self { frame: self.frame.joined(together), ..*self }
    }

    /// Packs a weight, `[outputs, inputs of a group, depth, height, width]`, in such words: the taps of a window one after the other, each
    /// with all channels.
    pub(super) fn panels(&self, words: (Level, Packing), weight: Weight<'_>) -> Panels {
        let ConvShape { outputs, groups, .. } = self.frame;
        let (channels, taps) = self.row();
        let (step, columns) = (channels * taps, outputs / groups);
        let rows: Vec<usize> =
            (0..taps).flat_map(|tap| (0..channels).map(move |channel| channel * taps + tap)).collect();
        let matrices = Matrices { weight, groups, distance: columns * step, rows: &rows, columns, step };
        Panels::new(words, &matrices)
    }

    /// What windows see of the frames of volumes with so many.
    pub(super) fn frames(&self, depth: usize) -> Axis {
        let Self { depth: kernel, stride, dilation, before, .. } = *self;
        let [output, ..] = self.output([depth, 0, 0]);
        Axis { input: depth, output, kernel, stride, dilation, before }
    }

    /// The windows over volumes of a depth, height and width, whose pixels are so many words each; with what is read where there is no input.
    fn windows<'a>(&self, data: &'a [f32], pixel: usize, size: [usize; 3], zeros: &'a [f32]) -> Windows<'a> {
        let ConvShape { kernel, stride, dilation, before, .. } = self.frame;
        let (frames, input) = (self.frames(size[0]), [size[1], size[2]]);
        Windows {
            data,
            input,
            pixel,
            output: self.frame.output(input),
            kernel,
            stride,
            dilation,
            before,
            zeros,
            frames,
        }
    }

    /// As [`ConvShape::row`].
    pub(super) fn row(&self) -> (usize, usize) {
        let (channels, taps) = self.frame.row();
        (channels, taps * self.depth)
    }

    /// The depth, height and width of the output for an input's; 0 where the window does not fit.
    pub fn output(&self, [depth, height, width]: [usize; 3]) -> [usize; 3] {
        let (window, padded) = (self.dilation * (self.depth.max(1) - 1) + 1, depth + self.before + self.after);
        let depth = if padded < window { 0 } else { (padded - window) / self.stride + 1 };
        let [height, width] = self.frame.output([height, width]);
        [depth, height, width]
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
        let (channels, taps) = shape.row();
        let (outputs, all) = (shape.frame.outputs, channels * taps);
        weight.check(outputs, all);
        let is_deep = shape.depth > 1;
        if is_deep && algorithm == Algorithm::TwoPixels && two_pixels::fits(level, &shape, format) {
            let pack = |weight: Weight<'_>, shape| Self::at(level, weight, shape, Algorithm::Direct, format);
            return Self { shape, weights: Weights::TwoPixels(TwoPixels::new(weight, &shape, pack)) };
        }
        if is_deep
            && Winograd::fits(&shape.frame)
            && let Some(winograd) = Winograd::new(level, weight, algorithm, &shape.frame, shape.depth)
        {
            return Self { shape, weights: Weights::Winograd(winograd) };
        }
        if is_deep && shape.frame.is_depthwise() && Depthwise::sees_frames(&shape.frame) {
            let weights = TapWeights::new(weight, outputs, all);
            return Self { shape, weights: Weights::Depthwise { level, weights } };
        }
        let packing = || shape.packing(level, format, |is_such| weight.all(outputs, all, is_such));
        let weights = match is_deep.then(packing) {
            Some(Some(packing)) if packing != Packing::Single || !shape.frame.has_short_pixels() => {
                Weights::Windows(VolumeWindows::new((level, packing), weight, shape, algorithm))
            }
            Some(None) if shape.is_padded(level, format) => {
                Weights::Padded(PaddedConv::new((level, Packing::Pairs), weight, shape))
            }
            _ => Weights::Frames(FrameSums::new(level, weight, shape, (algorithm, format))),
        };
        Self { shape, weights }
    }

    /// The sizes.
    pub fn shape(&self) -> &VolumeShape {
        &self.shape
    }

    /// The algorithm by which frames with so many pixels of the output are computed.
    pub fn algorithm(&self, pixels: usize) -> Algorithm {
        match &self.weights {
            Weights::Frames(frames) => frames.algorithm(pixels),
            Weights::Winograd(winograd) => winograd.algorithm(),
            Weights::Windows(windows) => windows.algorithm(),
            Weights::Padded(_) | Weights::Depthwise { .. } => Algorithm::Direct,
            Weights::TwoPixels(_) => Algorithm::TwoPixels,
        }
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        match &self.weights {
            Weights::Windows(windows) => windows.packing().format(),
            Weights::Padded(_) => Format::Bf16,
            Weights::Frames(frames) => frames.format(),
            Weights::Winograd(_) | Weights::Depthwise { .. } => Format::F32,
            Weights::TwoPixels(two) => two.wide.format(),
        }
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        match &self.weights {
            Weights::Windows(windows) => windows.bytes(),
            Weights::Padded(padded) => padded.bytes(),
            Weights::Depthwise { weights, .. } => weights.bytes(),
            Weights::Frames(frames) => frames.bytes(),
            Weights::Winograd(winograd) => winograd.bytes(),
            Weights::TwoPixels(two) => two.wide.bytes() + two.plain.bytes(),
        }
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
        match &self.weights {
            Weights::Windows(windows) => windows.packing() == Packing::Pairs,
            Weights::Depthwise { .. } => self.has_words(Rounded::Pairs),
            Weights::Padded(_) | Weights::Winograd(_) => false,
            Weights::Frames(frames) => frames.only().is_some_and(PackedConv::reads_words),
            Weights::TwoPixels(two) => two.wide.reads_words() && two.plain.reads_words(),
        }
    }

    /// Whether the residual may be words of what is rounded so: of pairs of bf16.
    pub fn adds_words(&self, rounded: Rounded) -> bool {
        let columns = self.shape.frame.outputs / self.shape.frame.groups;
        let is_even = rounded == Rounded::Pairs && columns.is_multiple_of(2);
        match &self.weights {
            Weights::Windows(windows) => windows.packing() == Packing::Pairs && is_even,
            Weights::Padded(_) | Weights::Winograd(_) | Weights::Depthwise { .. } | Weights::TwoPixels(_) => false,
            Weights::Frames(frames) => frames.only().is_some_and(|conv| conv.adds_words(rounded)),
        }
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        match &self.weights {
            Weights::Windows(windows) => windows.writes_words(rounded),
            Weights::Padded(padded) => padded.writes_words(rounded),
            Weights::Frames(frames) => frames.only().is_some_and(|conv| conv.writes_words(rounded)),
            Weights::Depthwise { .. } => self.has_words(rounded),
            Weights::Winograd(_) => false,
            Weights::TwoPixels(two) => {
                let writes = |conv: &Self| rounded == Rounded::Pairs && conv.writes_words(rounded);
                writes(&two.wide) && writes(&two.plain)
            }
        }
    }

    /// Whether the channels may be words of what is rounded so, if each is on its own.
    fn has_words(&self, rounded: Rounded) -> bool {
        match self.weights {
            Weights::Depthwise { level, .. } => Depthwise::has_words(level, rounded, self.shape.frame.outputs),
            _ => false,
        }
    }

    /// As [`run`](Self::run), with operands that may be words.
    ///
    /// # Panics
    /// As there, or if an operand [cannot](Self::reads_words) [be](Self::adds_words) [words](Self::writes_words).
    pub fn run_words(
        &self,
        out: &mut [f32],
        data: &[f32],
        batch: usize,
        size: [usize; 3],
        words: Words,
        epilogue: &Epilogue<'_>,
    ) {
        words.check(self.reads_words(), |added| self.adds_words(added), |rounded| self.writes_words(rounded));
        match &self.weights {
            Weights::Windows(windows) => windows.run(out, data, batch, size, epilogue, words.written(None)),
            Weights::Padded(padded) => padded.run_volumes(out, data, batch, size, epilogue, words.written(None)),
            Weights::Frames(frames) => frames.run(out, data, batch, size, words, epilogue),
            Weights::TwoPixels(two) => {
                let [depth, height, width] = self.shape.output(size);
                let outputs = self.shape.frame.outputs;
                let out = &mut out[..batch * depth * height * width * words.output_len(outputs)];
                two.run(out, [width, outputs], words.output, epilogue, |conv, out, epilogue| {
                    conv.run_words(out, data, batch, size, words, epilogue);
                });
            }
            Weights::Winograd(_) | Weights::Depthwise { .. } => {
                let ConvShape { inputs: channels, outputs, .. } = self.shape.frame;
                let (pixel, stride) = (words.input_len(channels), words.output_len(outputs));
                scratch(channels, |zeros| {
                    zeros.fill(0.0);
                    let windows = self.shape.windows(data, pixel, size, zeros);
                    match &self.weights {
                        Weights::Winograd(winograd) => winograd.run(out, outputs, batch, windows, epilogue),
                        Weights::Depthwise { level, weights } => {
                            let [reads_pairs, writes_pairs] = [words.input.is_some(), words.output.is_some()];
                            let weights = weights.of(reads_pairs);
                            Depthwise { windows, batch, channels, weights, epilogue, reads_pairs, writes_pairs }
                                .run(*level, out, stride);
                        }
                        _ => {}
                    }
                });
            }
        }
    }
}
