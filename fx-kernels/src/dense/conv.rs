//! Convolutions of images with the channels last.

use super::epilogue::Epilogue;
use super::left::{Left, Windows};
use super::panels::Panels;
use super::product::Product;
use crate::simd::Level;

/// The sizes of a convolution that do not depend on the image; a convolution of one dimension has height 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvShape {
    /// The channels of the input.
    pub inputs: usize,
    /// The channels of the output.
    pub outputs: usize,
    /// The height and width of the window.
    pub kernel: [usize; 2],
    /// The steps of the window.
    pub stride: [usize; 2],
    /// The distances between the window's taps.
    pub dilation: [usize; 2],
    /// The padding above and on the left.
    pub before: [usize; 2],
    /// The padding below and on the right.
    pub after: [usize; 2],
    /// The groups that the channels are split into.
    pub groups: usize,
}

/// The weights of a convolution, packed.
#[derive(Debug)]
pub struct PackedConv {
    shape: ConvShape,
    panels: Vec<Panels>,
    zeros: Vec<f32>,
}

impl ConvShape {
    /// The height and width of the output for an input's; 0 where the window does not fit.
    pub fn output(&self, input: [usize; 2]) -> [usize; 2] {
        std::array::from_fn(|i| {
            let window = self.dilation[i] * (self.kernel[i].max(1) - 1) + 1;
            let padded = input[i] + self.before[i] + self.after[i];
            if padded < window { 0 } else { (padded - window) / self.stride[i] + 1 }
        })
    }

    /// Whether the output's pixels are products of the input's pixels, in the same order.
    fn is_pointwise(&self) -> bool {
        self.kernel == [1; 2] && self.stride == [1; 2] && self.before == [0; 2] && self.after == [0; 2]
    }
}

impl PackedConv {
    /// Packs a weight in PyTorch's layout: outputs, inputs of a group, height, width.
    ///
    /// # Panics
    /// If the weight has another length, or the groups do not divide the channels.
    pub fn new(weight: &[f32], shape: ConvShape) -> Self {
        Self::at(Level::detect(), weight, shape)
    }

    /// As [`new`](Self::new), for instructions of the given level.
    ///
    /// # Panics
    /// If the processor does not have the level.
    pub fn at(level: Level, weight: &[f32], shape: ConvShape) -> Self {
        let ConvShape { inputs, outputs, kernel, groups, .. } = shape;
        assert!(
            groups > 0 && inputs % groups == 0 && outputs % groups == 0,
            "{groups} groups do not divide {inputs} and {outputs} channels"
        );
        let (channels, filters, taps) = (inputs / groups, outputs / groups, kernel[0] * kernel[1]);
        assert_eq!(weight.len(), outputs * channels * taps, "the weight does not have the convolution's shape");
        let panels = weight.chunks_exact((filters * channels * taps).max(1)).take(groups);
        let panels = panels.map(|weight| {
            Panels::new(level, taps * channels, filters, |k, filter| {
                weight[(filter * channels + k % channels) * taps + k / channels]
            })
        });
        Self { shape, panels: panels.collect(), zeros: vec![0.0; inputs] }
    }

    /// The sizes.
    pub fn shape(&self) -> &ConvShape {
        &self.shape
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        self.panels.iter().map(Panels::bytes).sum()
    }

    /// Applies the convolution to `batch` images of a height and width; pixels of the input are `pixel` apart, of the
    /// output `stride`.
    ///
    /// # Panics
    /// If an operand is too short.
    #[allow(clippy::too_many_arguments, reason = "two operands with their layouts")]
    pub fn run(
        &self,
        out: &mut [f32],
        stride: usize,
        data: &[f32],
        pixel: usize,
        batch: usize,
        input: [usize; 2],
        epilogue: &Epilogue<'_>,
    ) {
        let ConvShape { kernel, stride: step, dilation, before, .. } = self.shape;
        let output = self.shape.output(input);
        let left = if self.shape.is_pointwise() {
            Left::Rows { data, stride: pixel }
        } else {
            Left::Windows(Windows {
                data,
                input,
                pixel,
                output,
                kernel,
                stride: step,
                dilation,
                before,
                zeros: &self.zeros,
            })
        };
        Product { left, rows: batch * output[0] * output[1], groups: &self.panels, epilogue }.run(out, stride);
    }
}
