//! Convolutions of images with the channels last.

use super::epilogue::{Epilogue, Residual};
use super::images::{Images, Layout};
use super::left::{Left, Windows};
use super::panels::Panels;
use super::product::Product;
use super::window::{Reduction, Sliding};
use super::winograd::Winograd;
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

/// The ways to compute a convolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// The sums of its definition.
    #[default]
    Direct,
    /// Winograd's for windows of 3 by 3, with 16 products instead of 36 for each 2 by 2 pixels: its rounding errors are
    /// about twice as large, and its weights 16/9 times.
    Winograd,
}

/// The weights of a convolution, packed.
///
/// ```
/// use fx_kernels::dense::{ConvShape, Epilogue, Images, PackedConv};
///
/// // The sum of each 2 by 2 square of an image with one channel.
/// let shape = ConvShape { kernel: [2, 2], ..ConvShape::pointwise(1, 1) };
/// let conv = PackedConv::new(&[1.0; 4], shape);
/// let image = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let mut out = [0.0; 2];
/// conv.run(&mut out, 1, &Images::pixels(&image, 1, [2, 3], 1), &Epilogue::default());
/// assert_eq!(out, [12.0, 16.0]);
/// ```
#[derive(Debug)]
pub struct PackedConv {
    shape: ConvShape,
    level: Level,
    weights: Weights,
    zeros: Vec<f32>,
}

/// Packed weights, by the way that the convolution is computed.
#[derive(Debug)]
enum Weights {
    /// A product of the windows with a matrix for each group.
    Groups(Vec<Panels>),
    /// The same with a padded copy of the image, where a line of a window is one run: for few channels.
    Lines(Panels),
    /// A number for each tap and channel.
    Depthwise(Vec<f32>),
    /// Transformed.
    Winograd(Winograd),
}

impl ConvShape {
    /// A convolution of single pixels.
    pub fn pointwise(inputs: usize, outputs: usize) -> Self {
        let (none, one) = ([0; 2], [1; 2]);
        Self { inputs, outputs, kernel: one, stride: one, dilation: one, before: none, after: none, groups: 1 }
    }

    /// The height and width of the output for an input's; 0 where the window does not fit.
    pub fn output(&self, input: [usize; 2]) -> [usize; 2] {
        std::array::from_fn(|i| {
            let window = self.dilation[i] * (self.kernel[i].max(1) - 1) + 1;
            let padded = input[i] + self.before[i] + self.after[i];
            if padded < window { 0 } else { (padded - window) / self.stride[i] + 1 }
        })
    }

    /// The algorithm that is fastest for an output of so many pixels, those of all images together.
    pub fn algorithm(&self, pixels: usize) -> Algorithm {
        /// Fewer do not make up for reading larger weights.
        const FEWEST: usize = 128;
        if Winograd::fits(self) && pixels >= FEWEST { Algorithm::Winograd } else { Algorithm::Direct }
    }

    /// Whether the output's pixels are products of the input's pixels, in the same order.
    fn is_pointwise(&self) -> bool {
        self.kernel == [1; 2] && self.stride == [1; 2] && self.before == [0; 2] && self.after == [0; 2]
    }

    /// Whether each channel is on its own.
    fn is_depthwise(&self) -> bool {
        self.groups == self.inputs && self.groups == self.outputs && self.groups > 1
    }

    /// Whether a pixel has so few channels that the taps of a line are better taken together.
    fn has_short_pixels(&self) -> bool {
        self.groups == 1 && self.dilation[1] == 1 && self.kernel[1] > 1 && self.inputs < 16
    }
}

impl PackedConv {
    /// Packs a weight in PyTorch's layout: outputs, inputs of a group, height, width.
    ///
    /// # Panics
    /// If the weight has another length, or the groups do not divide the channels.
    pub fn new(weight: &[f32], shape: ConvShape) -> Self {
        Self::with(weight, shape, Algorithm::Direct)
    }

    /// As [`new`](Self::new), for an algorithm; one that the shape or the weight is not made for gives way to the direct
    /// one.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn with(weight: &[f32], shape: ConvShape, algorithm: Algorithm) -> Self {
        Self::at(Level::detect(), weight, shape, algorithm)
    }

    /// As [`with`](Self::with), for instructions of the given level.
    ///
    /// # Panics
    /// If the processor does not have the level.
    pub fn at(level: Level, weight: &[f32], shape: ConvShape, algorithm: Algorithm) -> Self {
        let ConvShape { inputs, outputs, kernel, groups, .. } = shape;
        assert!(
            groups > 0 && inputs % groups == 0 && outputs % groups == 0,
            "{groups} groups do not divide {inputs} and {outputs} channels"
        );
        let (channels, filters, taps) = (inputs / groups, outputs / groups, kernel[0] * kernel[1]);
        assert_eq!(weight.len(), outputs * channels * taps, "the weight does not have the convolution's shape");
        let winograd = match algorithm {
            Algorithm::Winograd if Winograd::fits(&shape) => Winograd::new(level, weight, inputs, outputs),
            _ => None,
        };
        let weights = if let Some(winograd) = winograd {
            Weights::Winograd(winograd)
        } else if shape.is_depthwise() {
            Weights::Depthwise((0..weight.len()).map(|i| weight[i % inputs * taps + i / inputs]).collect())
        } else {
            let panels = weight.chunks_exact((filters * channels * taps).max(1)).take(groups);
            // The taps of a window one after the other, each with all channels.
            let rows: Vec<usize> =
                (0..taps).flat_map(|tap| (0..channels).map(move |channel| channel * taps + tap)).collect();
            let mut panels = panels.map(|weight| Panels::new(level, weight, &rows, filters, channels * taps));
            match panels.next() {
                Some(panels) if shape.has_short_pixels() => Weights::Lines(panels),
                first => Weights::Groups(first.into_iter().chain(panels).collect()),
            }
        };
        Self { shape, level, weights, zeros: vec![0.0; inputs * kernel[1]] }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        if let Weights::Winograd(_) = self.weights { Algorithm::Winograd } else { Algorithm::Direct }
    }

    /// The sizes.
    pub fn shape(&self) -> &ConvShape {
        &self.shape
    }

    /// The bytes of the packed weights.
    pub fn bytes(&self) -> usize {
        match &self.weights {
            Weights::Groups(panels) => panels.iter().map(Panels::bytes).sum(),
            Weights::Lines(panels) => panels.bytes(),
            Weights::Depthwise(weights) => size_of_val(weights.as_slice()),
            Weights::Winograd(winograd) => winograd.bytes(),
        }
    }

    /// Applies the convolution to images; the output's channels are last, its pixels `stride` apart.
    ///
    /// # Panics
    /// If an operand is too short.
    pub fn run(&self, out: &mut [f32], stride: usize, images: &Images<'_>, epilogue: &Epilogue<'_>) {
        if let Weights::Lines(_) = self.weights {
            let [above, left] = self.shape.before;
            let padding = [[above, self.shape.after[0]], [left, self.shape.after[1]]];
            let area = self.shape.output(images.size).into_iter().product::<usize>();
            for image in 0..images.batch {
                let first = image * area;
                let residual = epilogue.residual.map(|Residual { data, stride }| Residual {
                    data: &data[(first * stride).min(data.len())..],
                    stride,
                });
                let epilogue = Epilogue { residual, ..*epilogue };
                let start = (first * stride).min(out.len());
                images.one(image).with_padding(self.shape.inputs, padding, |images| {
                    self.run_pixels(&mut out[start..], stride, images, &epilogue);
                });
            }
        } else {
            images.with_pixels(self.shape.inputs, |images| self.run_pixels(out, stride, images, epilogue));
        }
    }

    /// As [`run`](Self::run), of images with the channels last, and padded if the weights are packed for that.
    fn run_pixels(&self, out: &mut [f32], stride: usize, images: &Images<'_>, epilogue: &Epilogue<'_>) {
        let ConvShape { kernel, stride: step, dilation, before, .. } = self.shape;
        let Layout::Pixels { distance: pixel } = images.layout else { return };
        let (data, input) = (images.data, images.size);
        let mut windows = Windows {
            data,
            input,
            pixel,
            output: self.shape.output(input),
            kernel,
            stride: step,
            dilation,
            before,
            zeros: &self.zeros,
        };
        if let Weights::Lines(_) = self.weights {
            let padded = ConvShape { before: [0; 2], after: [0; 2], ..self.shape };
            windows = Windows { output: padded.output(input), kernel: [kernel[0], 1], before: [0; 2], ..windows };
        }
        let rows = images.batch * windows.output[0] * windows.output[1];
        let left = if self.shape.is_pointwise() { Left::Rows { data, stride: pixel } } else { Left::Windows(windows) };
        match &self.weights {
            Weights::Groups(groups) => Product { left, rows, groups, epilogue }.run(out, stride),
            Weights::Lines(panels) => {
                Product { left, rows, groups: std::slice::from_ref(panels), epilogue }.run(out, stride);
            }
            Weights::Depthwise(weights) => {
                let reduction = Reduction::Weighted(weights);
                Sliding { left, rows, channels: self.shape.inputs, reduction, epilogue }.run(self.level, out, stride);
            }
            Weights::Winograd(winograd) => winograd.run(out, stride, images.batch, windows, epilogue),
        }
    }
}
