//! MobileNetV2: Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks" (2018).
//!
//! Names and details are torchvision's.

use fx::Tensor;
use fx::ops::FlattenOptions;
use fx_macros::traceable;

use super::conv_init::he_fan_out;
use crate::{AnyLayer, BatchNorm2d, Conv2d, Dropout, Linear, ReLU6, Sequential, init};

/// The hyper-parameters of a [`MobileNetV2`].
#[derive(Clone, Debug, PartialEq)]
pub struct MobileNetV2Config {
    /// The number of logits.
    pub num_classes: usize,
    /// Scales the number of channels of every layer.
    pub width_mult: f64,
    /// Numbers of channels are multiples of this.
    pub round_nearest: usize,
    /// The probability of dropout before the classifier.
    pub dropout: f64,
    /// Expansion, channels, repetitions and stride of each group of blocks.
    pub inverted_residuals: Vec<[usize; 4]>,
}

impl Default for MobileNetV2Config {
    /// The paper's network for ImageNet.
    fn default() -> Self {
        Self {
            num_classes: 1000,
            width_mult: 1.0,
            round_nearest: 8,
            dropout: 0.2,
            inverted_residuals: vec![
                [1, 16, 1, 1],
                [6, 24, 2, 2],
                [6, 32, 3, 2],
                [6, 64, 4, 2],
                [6, 96, 3, 1],
                [6, 160, 3, 2],
                [6, 320, 1, 1],
            ],
        }
    }
}

/// The multiple of `divisor` nearest to a number of channels that is not more than a tenth below it.
pub fn make_divisible(channels: f64, divisor: usize) -> usize {
    let d = divisor as f64;
    let rounded = d.max(((channels + d / 2.0) / d).floor() * d);
    (if rounded < 0.9 * channels { rounded + d } else { rounded }) as usize
}

/// A convolution, normalised, with ReLU6.
type ConvNormActivation = Sequential<(Conv2d, BatchNorm2d, ReLU6)>;

fn conv_norm_activation(conv: Conv2d) -> ConvNormActivation {
    let conv = he_fan_out(conv.bias(false));
    let norm = BatchNorm2d::new(conv.weight.shape()[0]);
    Sequential::new((conv, norm, ReLU6::new()))
}

/// A block that widens, convolves each channel by itself, and narrows without an activation.
#[traceable]
#[derive(Clone, Debug)]
pub struct InvertedResidual {
    conv: Sequential<Vec<AnyLayer>>,
    use_res_connect: bool,
}

#[traceable]
impl InvertedResidual {
    fn new(inputs: usize, outputs: usize, stride: usize, expand_ratio: usize) -> Self {
        let hidden = inputs * expand_ratio;
        let mut conv = Sequential::new(Vec::new());
        if expand_ratio != 1 {
            conv.push(conv_norm_activation(Conv2d::new(inputs, hidden, 1)));
        }
        conv.push(conv_norm_activation(Conv2d::new(hidden, hidden, 3).stride(stride).padding(1).groups(hidden)));
        conv.push(he_fan_out(Conv2d::new(hidden, outputs, 1).bias(false)));
        conv.push(BatchNorm2d::new(outputs));
        Self { conv, use_res_connect: stride == 1 && inputs == outputs }
    }

    /// `x`: `[N, inputs, H, W]`; gives `[N, outputs, H / stride, W / stride]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let out = self.conv.forward(x);
        if self.use_res_connect { x + out } else { out }
    }
}

/// MobileNetV2.
#[traceable]
#[derive(Clone, Debug)]
pub struct MobileNetV2 {
    features: Sequential<Vec<AnyLayer>>,
    classifier: Sequential<(Dropout, Linear)>,
}

#[traceable]
impl MobileNetV2 {
    /// A network for images of 3 channels.
    pub fn new(config: &MobileNetV2Config) -> Self {
        let width = |channels: usize, mult: f64| make_divisible(channels as f64 * mult, config.round_nearest);
        let mut inputs = width(32, config.width_mult);
        let last = width(1280, config.width_mult.max(1.0));
        let mut features = Sequential::new(Vec::new());
        features.push(conv_norm_activation(Conv2d::new(3, inputs, 3).stride(2).padding(1)));
        for &[expand_ratio, channels, repetitions, stride] in &config.inverted_residuals {
            let outputs = width(channels, config.width_mult);
            for i in 0..repetitions {
                let stride = if i == 0 { stride } else { 1 };
                features.push(InvertedResidual::new(inputs, outputs, stride, expand_ratio));
                inputs = outputs;
            }
        }
        features.push(conv_norm_activation(Conv2d::new(inputs, last, 1)));
        let mut classifier = Linear::new(last, config.num_classes);
        classifier.weight = init::normal(&[config.num_classes, last], 0.01);
        classifier.bias = Some(init::zeros(&[config.num_classes]));
        Self { features, classifier: Sequential::new((Dropout::new(config.dropout), classifier)) }
    }

    /// `x`: `[N, 3, H, W]`; gives logits, `[N, num_classes]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.features.forward(x).adaptive_avg_pool2d(1);
        self.classifier.forward(x.flatten_with(FlattenOptions::new().start_dim(1)))
    }
}
