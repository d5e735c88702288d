//! Transposed convolutions of volumes: each frame of the result is that of a frame, or of several whose channels stand beside each
//! other.

use super::super::epilogue::Epilogue;
use super::super::format::Format;
use super::super::images::Images;
use super::super::transposed::{TransposedConv, TransposedShape};
use super::super::words::Words;
use crate::copy::copy;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::for_each_large_piece;

/// The sizes of a transposed convolution of volumes, which has one group and neighbouring taps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransposedVolumeShape {
    /// Of what a frame becomes.
    pub frame: TransposedShape,
    /// The frames that a window reaches.
    pub depth: usize,
    /// The step of the window from frame to frame.
    pub stride: usize,
    /// The frames that are cut off on each side of the output.
    pub padding: usize,
    /// Those that are added to its end.
    pub output_padding: usize,
}

/// A transposed convolution of volumes.
///
/// ```
/// use fx_kernels::dense::{Epilogue, Format, TransposedShape, TransposedVolumeConv, TransposedVolumeShape};
///
/// // Each frame of one pixel becomes two.
/// let (one, none) = ([1; 2], [0; 2]);
/// let frame = TransposedShape { inputs: 1, outputs: 1, kernel: one, stride: one, padding: none, output_padding: none };
/// let shape = TransposedVolumeShape { frame, depth: 2, stride: 2, padding: 0, output_padding: 0 };
/// let conv = TransposedVolumeConv::new(&[1.0, 10.0], shape, Format::F32);
/// let mut out = [0.0; 4];
/// conv.run(&mut out, &[1.0, 2.0], 1, [2, 1, 1], &Epilogue::default());
/// assert_eq!(out, [1.0, 10.0, 2.0, 20.0]);
/// ```
#[derive(Debug)]
pub struct TransposedVolumeConv {
    shape: TransposedVolumeShape,
    /// For each frame of a step.
    convs: Vec<TransposedConv>,
}

impl TransposedVolumeShape {
    /// The depth, height and width of the output for an input's.
    pub fn output(&self, [depth, height, width]: [usize; 3]) -> [usize; 3] {
        let whole = if depth == 0 { 0 } else { (depth - 1) * self.stride + self.depth + self.output_padding };
        let [height, width] = self.frame.output([height, width]);
        [whole.saturating_sub(2 * self.padding), height, width]
    }

    /// Whether there are convolutions for it: no more is cut off than a window reaches.
    pub fn fits(&self) -> bool {
        self.frame.fits() && self.stride > 0 && self.padding < self.depth
    }

    /// The taps of the window that reach the `phase`-th frame of a step, one at least: in gaps between windows it is 0.
    fn taps(&self, phase: usize) -> usize {
        (self.depth.max(self.stride) - phase).div_ceil(self.stride)
    }
}

impl TransposedVolumeConv {
    /// Packs a weight in PyTorch's layout: inputs, outputs, depth, height, width.
    ///
    /// # Panics
    /// If the weight has another length, or the shape does not [fit](TransposedVolumeShape::fits).
    pub fn new(weight: &[f32], shape: TransposedVolumeShape, format: Format) -> Self {
        Self::at(Level::detect(), weight, shape, format)
    }

    /// As [`new`](Self::new), for instructions of the given level.
    pub(in crate::dense) fn at(level: Level, weight: &[f32], shape: TransposedVolumeShape, format: Format) -> Self {
        let TransposedShape { inputs, outputs, kernel, .. } = shape.frame;
        let area = kernel[0] * kernel[1];
        assert!(shape.fits(), "of {shape:?} more is cut off than a window reaches");
        assert_eq!(weight.len(), inputs * outputs * shape.depth * area, "the weight of {shape:?} has another length");
        let conv = |phase: usize| {
            let taps = shape.taps(phase);
            let mut rows = Vec::with_capacity(taps * inputs * outputs * area);
            for (tap, pair) in (0..taps).flat_map(|tap| (0..inputs * outputs).map(move |pair| (tap, pair))) {
                let frame = phase + tap * shape.stride;
                match frame < shape.depth {
                    true => rows.extend_from_slice(&weight[(pair * shape.depth + frame) * area..][..area]),
                    false => rows.resize(rows.len() + area, 0.0),
                }
            }
            TransposedConv::at(level, &rows, TransposedShape { inputs: taps * inputs, ..shape.frame }, format)
        };
        Self { shape, convs: (0..shape.stride).map(conv).collect() }
    }

    /// The sizes.
    pub fn shape(&self) -> &TransposedVolumeShape {
        &self.shape
    }

    /// The type in which the weights are kept.
    pub fn format(&self) -> Format {
        self.convs.first().map_or(Format::F32, TransposedConv::format)
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        self.convs.iter().map(TransposedConv::bytes).sum()
    }

    /// Applies the convolution to so many volumes of a depth, height and width, with the channels last and without gaps, as those of
    /// the output. Of what follows there may be a bias and an activation.
    ///
    /// # Panics
    /// If an operand is too short.
    pub fn run(&self, out: &mut [f32], data: &[f32], batch: usize, size: [usize; 3], epilogue: &Epilogue<'_>) {
        self.run_words(out, data, batch, size, Words::default(), epilogue);
    }

    /// Whether the volumes may be [words](Words) of pairs of bf16.
    pub fn reads_words(&self) -> bool {
        self.shape.frame.inputs.is_multiple_of(2) && self.convs.iter().all(TransposedConv::reads_words)
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        self.convs.iter().all(|conv| conv.writes_words(rounded))
    }

    /// As [`run`](Self::run), with operands that may be words.
    ///
    /// # Panics
    /// As there, or if an operand [cannot be](Self::reads_words) [words](Self::writes_words).
    pub fn run_words(
        &self,
        out: &mut [f32],
        data: &[f32],
        batch: usize,
        size: [usize; 3],
        words: Words,
        epilogue: &Epilogue<'_>,
    ) {
        words.check(self.reads_words(), |_| false, |rounded| self.writes_words(rounded));
        let TransposedVolumeShape { frame, stride, padding, .. } = self.shape;
        let [depth, height, width] = self.shape.output(size);
        let channels = words.input_len(frame.inputs);
        let (read, written) = (size[1] * size[2] * channels, height * width * words.output_len(frame.outputs));
        assert!(data.len() >= batch * size[0] * read, "the volumes are too short");
        assert!(out.len() >= batch * depth * written, "the result does not fit");
        let work = 2 * out.len() * self.shape.taps(0) * frame.inputs * frame.kernel[0] * frame.kernel[1];
        for volume in 0..batch {
            let data = &data[volume * size[0] * read..][..size[0] * read];
            let out = &mut out[volume * depth * written..][..depth * written];
            for_each_large_piece(out, written, work, |frame, out| {
                let (last, phase) = ((frame + padding) / stride, (frame + padding) % stride);
                let taps = self.shape.taps(phase);
                with_frames(data, last, taps, (size, channels), |data| {
                    let images = Images::pixels(data, 1, [size[1], size[2]], taps * channels);
                    self.convs[phase].run_words(out, &images, None, words, epilogue);
                });
            });
        }
    }
}

/// Lends a frame, or several, this one and those before, whose channels, as many numbers or words, stand beside each other. What is no frame
/// of the volume is zeros.
fn with_frames(data: &[f32], last: usize, count: usize, (size, channels): ([usize; 3], usize), f: impl FnOnce(&[f32])) {
    let pixels = size[1] * size[2];
    let len = pixels * channels;
    if count == 1 && last < size[0] {
        return f(&data[last * len..][..len]);
    }
    scratch(count * len, |together| {
        together.fill(0.0);
        for place in 0..count {
            let Some(frame) = last.checked_sub(place).filter(|frame| *frame < size[0]) else { continue };
            let (to, from) = ([count * channels, 1], [channels, 1]);
            copy(&mut together[place * channels..], &to, &data[frame * len..][..len], &from, &[pixels, channels]);
        }
        f(together);
    });
}
