//! Convolutions of volumes as one product: what windows see of all frames, with the weights of all.

use super::super::algorithm::Algorithm;
use super::super::block::Rows;
use super::super::epilogue::Epilogue;
use super::super::format::Packing;
use super::super::panels::Panels;
use super::super::product::{Product, Written};
use super::super::weight::Weight;
use super::VolumeShape;
use crate::memory::scratch;
use crate::rounded::Rounded;
use crate::simd::Level;
use crate::threads::for_each_piece;

/// The words that a thread rounds at a time.
const PIECE: usize = 4 * 1024;

/// Weights for the windows of volumes where they lie.
#[derive(Debug)]
pub(in crate::dense) struct VolumeWindows {
    shape: VolumeShape,
    panels: Panels,
    /// What was asked for.
    algorithm: Algorithm,
}

impl VolumeWindows {
    /// Packs a weight, `[outputs, inputs of a group, depth, height, width]`, in such words, for the direct algorithm or in pieces.
    pub(in crate::dense) fn new(
        words: (Level, Packing),
        weight: Weight<'_>,
        shape: VolumeShape,
        algorithm: Algorithm,
    ) -> Self {
        Self { shape, panels: shape.panels(words, weight), algorithm }
    }

    /// The algorithm.
    pub(in crate::dense) fn algorithm(&self) -> Algorithm {
        self.algorithm.of_windows(&self.panels)
    }

    pub(in crate::dense) fn packing(&self) -> Packing {
        self.panels.packing()
    }

    pub(in crate::dense) fn level(&self) -> Level {
        self.panels.level()
    }

    pub(in crate::dense) fn bytes(&self) -> usize {
        self.panels.bytes()
    }

    /// Whether the result may be words of what is rounded so.
    pub(in crate::dense) fn writes_words(&self, rounded: Rounded) -> bool {
        rounded.is_fast(self.level()) && self.panels.columns().is_multiple_of(rounded.numbers())
    }

    /// Applies the convolution to so many volumes of a depth, height and width, with the channels last and without gaps, as those of the
    /// output.
    ///
    /// # Panics
    /// If an operand is too short.
    pub(in crate::dense) fn run(
        &self,
        out: &mut [f32],
        data: &[f32],
        batch: usize,
        size: [usize; 3],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let (inputs, packing) = (self.shape.frame.inputs, self.packing());
        let rounding = written.rounding(self.level(), packing);
        let numbers = rounding.numbers();
        let pixels = batch * size.iter().product::<usize>();
        let stride = Rounded::len(written.output, self.shape.frame.outputs);
        if numbers == 1 {
            let words = if written.left { packing.numbers() } else { 1 };
            return self.multiply(out, stride, (data, inputs / words), batch, size, epilogue, written);
        }
        // Several windows read each number: it is rounded once.
        scratch(pixels * inputs / numbers, |words| {
            let work = 8 * words.len();
            for_each_piece(words, PIECE, work, |piece, words| {
                let width = numbers * words.len();
                let data = &data[piece * PIECE * numbers..];
                Rows { data, stride: width, width, rounding }.take(words, words.len());
            });
            let written = Written { left: true, ..written };
            self.multiply(out, stride, (words, inputs / numbers), batch, size, epilogue, written);
        });
    }

    /// The same of pixels that are so many words each, or numbers, into pixels that are `stride` apart.
    #[allow(clippy::too_many_arguments, reason = "as many say what is computed")]
    pub(in crate::dense) fn multiply(
        &self,
        out: &mut [f32],
        stride: usize,
        (data, pixel): (&[f32], usize),
        batch: usize,
        size: [usize; 3],
        epilogue: &Epilogue<'_>,
        written: Written<'_>,
    ) {
        let rows = batch * self.shape.output(size).iter().product::<usize>();
        scratch(pixel, |zeros| {
            zeros.fill(written.padding(self.packing()));
            let windows = self.shape.windows(data, pixel, size, zeros);
            let product = Product { written, ..Product::new(windows.into(), rows, &self.panels, epilogue) };
            product.run_by(self.algorithm(), out, stride);
        });
    }
}
