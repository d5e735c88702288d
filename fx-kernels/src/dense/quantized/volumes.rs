//! Convolutions of volumes of whole numbers.

use super::super::algorithm::Algorithm;
use super::super::epilogue::Epilogue;
use super::super::format::{Format, Packing};
use super::super::images::Images;
use super::super::padded::PaddedConv;
use super::super::volumes::{VolumeConv, VolumeShape, VolumeWindows};
use super::activations::rounded;
use super::{Activations, Bytes, Columns, QuantizedConv, words};
use crate::rounded::Rounded;
use crate::simd::Level;

/// A convolution of volumes of whole numbers.
#[derive(Debug)]
pub struct QuantizedVolumeConv {
    shape: VolumeShape,
    weights: Weights,
    columns: Columns,
}

/// Packed weights, by the way that the windows are read.
#[derive(Debug)]
enum Weights {
    /// Where they lie.
    Windows(VolumeWindows),
    /// In lines of words, with what is around them.
    Padded(PaddedConv),
    /// Of windows that see one frame: volumes are images then.
    Images(Box<QuantizedConv>),
    /// Where they lie in volumes that are rounded first: of what the numbers stand for.
    Rounded(VolumeConv),
}

impl QuantizedVolumeConv {
    /// Packs a weight, `[outputs, inputs of a group, depth, height, width]`.
    ///
    /// # Panics
    /// If the weight has another length, or there is no scale for each output.
    pub fn new(weight: Bytes<'_>, shape: VolumeShape) -> Self {
        Self::at(Level::detect(), weight, shape)
    }

    /// As [`new`](Self::new), for instructions of the given level.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if the processor does not have the level.
    pub fn at(level: Level, weight: Bytes<'_>, shape: VolumeShape) -> Self {
        let (channels, taps) = shape.row();
        let row = channels * taps;
        weight.check(shape.frame.outputs, row);
        if shape == VolumeShape::of_images(shape.frame) {
            let columns = Columns { bits: weight.bits, scales: Vec::new(), sums: Vec::new() };
            let weights = Weights::Images(Box::new(QuantizedConv::at(level, weight, shape.frame)));
            return Self { shape, weights, columns };
        }
        let (together, packing) = words(level, &shape, weight.bits);
        let (weights, columns) = match packing {
            None => weight.pack(row, None, |weight, _| {
                Weights::Rounded(VolumeConv::at(level, weight, shape, Algorithm::Direct, Format::F32))
            }),
            packing => {
                let joined = weight.joined(&shape, together);
                let weight = Bytes { weight: joined.as_deref().unwrap_or(weight.weight), ..weight };
                let shape = shape.joined(together);
                weight.pack(row * together, packing, |weight, packing| match PaddedConv::fits(&shape, packing) {
                    true => Weights::Padded(PaddedConv::new((level, packing), weight, shape)),
                    false => Weights::Windows(VolumeWindows::new((level, packing), weight, shape, Algorithm::Direct)),
                })
            }
        };
        Self { shape, weights, columns }
    }

    /// The sizes.
    pub fn shape(&self) -> &VolumeShape {
        &self.shape
    }

    /// The type in which the weights are kept: bytes, or f32.
    pub fn format(&self) -> Format {
        match &self.weights {
            Weights::Windows(windows) => windows.packing().format(),
            Weights::Padded(_) => Format::Int8,
            Weights::Images(conv) => conv.format(),
            Weights::Rounded(conv) => conv.format(),
        }
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        let packed = match &self.weights {
            Weights::Windows(windows) => windows.bytes(),
            Weights::Padded(padded) => padded.bytes(),
            Weights::Images(conv) => conv.bytes(),
            Weights::Rounded(conv) => conv.bytes(),
        };
        packed + self.columns.bytes()
    }

    /// Whether the volumes may be [words](super::super::Words): of bytes.
    pub fn reads_words(&self) -> bool {
        match &self.weights {
            Weights::Windows(windows) => windows.packing() == Packing::Quads,
            Weights::Padded(padded) => padded.reads_words(),
            Weights::Images(conv) => conv.reads_words(),
            Weights::Rounded(_) => false,
        }
    }

    /// Whether the result may be words of what is rounded so.
    pub fn writes_words(&self, rounded: Rounded) -> bool {
        match &self.weights {
            Weights::Windows(windows) => windows.writes_words(rounded),
            Weights::Padded(padded) => padded.writes_words(rounded),
            Weights::Images(conv) => conv.writes_words(rounded),
            Weights::Rounded(_) => false,
        }
    }

    /// Whether what is added may be words of what is rounded so: of bytes.
    pub fn adds_words(&self, rounded: Rounded) -> bool {
        match &self.weights {
            Weights::Images(conv) => conv.adds_words(rounded),
            _ => matches!(rounded, Rounded::Bytes(_)) && self.writes_words(rounded),
        }
    }

    /// As [`VolumeConv::run_words`], of volumes that are rounded so. Padding is 0.
    ///
    /// # Panics
    /// If an operand is too short, the range has more bits than the weights are packed for, or an operand
    /// [cannot](Self::reads_words) [be](Self::adds_words) [words](Self::writes_words).
    pub fn run(
        &self,
        out: &mut [f32],
        data: &[f32],
        batch: usize,
        size: [usize; 3],
        activations: impl Into<Activations>,
        epilogue: &Epilogue<'_>,
    ) {
        let activations = activations.into();
        if let Weights::Images(conv) = &self.weights {
            let stride = activations.words.output_len(self.shape.frame.outputs);
            let distance = activations.words.input_len(self.shape.frame.inputs);
            let images = Images::pixels(data, batch * size[0], [size[1], size[2]], distance);
            return conv.run(out, stride, &images, activations, epilogue);
        }
        activations.words.check(
            self.reads_words(),
            |added| self.adds_words(added),
            |rounded| self.writes_words(rounded),
        );
        let (rows, outputs) = (batch * self.shape.output(size).iter().product::<usize>(), self.shape.frame.outputs);
        activations.with_added(out, [rows, outputs, outputs], epilogue, |out, epilogue| {
            self.columns.with(activations, epilogue, |written, epilogue| match &self.weights {
                Weights::Windows(windows) => windows.run(out, data, batch, size, epilogue, written),
                Weights::Padded(padded) => padded.run_volumes(out, data, batch, size, epilogue, written),
                // As said above.
                Weights::Images(_) => {}
                Weights::Rounded(conv) => {
                    let len = batch * size.iter().product::<usize>() * self.shape.frame.inputs;
                    rounded(&data[..len], activations.input, |data| conv.run(out, data, batch, size, epilogue));
                }
            });
        });
    }
}
