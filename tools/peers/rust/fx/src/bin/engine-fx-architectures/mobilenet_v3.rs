//! MobileNetV3 as torchvision writes it, the large one: Howard et al. (2019).

use fx::nn::{self, AnyLayer, Sequential};
use fx::ops::FlattenOptions;
use fx::prelude::*;

type Layers = Sequential<Vec<AnyLayer>>;

/// What comes after a convolution.
#[derive(Clone, Copy)]
enum Activation {
    None,
    Relu,
    Hardswish,
}

fn conv_norm(i: usize, o: usize, kernel: usize, stride: usize, groups: usize, activation: Activation) -> Layers {
    let mut layers = Sequential::new(vec![]);
    layers.push(nn::Conv2d::new(i, o, kernel).stride(stride).padding(kernel / 2).groups(groups).bias(false));
    layers.push(nn::BatchNorm2d::new(o).eps(1e-3));
    match activation {
        Activation::None => {}
        Activation::Relu => layers.push(nn::ReLU::new()),
        Activation::Hardswish => layers.push(nn::Hardswish::new()),
    }
    layers
}

#[traceable]
#[derive(Clone)]
struct SqueezeExcitation {
    avgpool: nn::AdaptiveAvgPool2d,
    fc1: nn::Conv2d,
    fc2: nn::Conv2d,
}

#[traceable]
impl SqueezeExcitation {
    fn new(channels: usize) -> Self {
        // A quarter, in eights, and no less than nine tenths of it.
        let quarter = channels / 4;
        let rounded = ((quarter + 4) / 8 * 8).max(8);
        let squeeze = if rounded * 10 < quarter * 9 { rounded + 8 } else { rounded };
        Self {
            avgpool: nn::AdaptiveAvgPool2d::new(1),
            fc1: nn::Conv2d::new(channels, squeeze, 1),
            fc2: nn::Conv2d::new(squeeze, channels, 1),
        }
    }

    pub(crate) fn forward(&self, input: &Tensor) -> Tensor {
        let scale = self.fc1.forward(self.avgpool.forward(input)).relu();
        self.fc2.forward(scale).hardsigmoid() * input
    }
}

#[traceable]
#[derive(Clone)]
struct InvertedResidual {
    block: Layers,
    use_res_connect: bool,
}

#[traceable]
impl InvertedResidual {
    fn new(
        i: usize,
        kernel: usize,
        expanded: usize,
        o: usize,
        squeeze: bool,
        activation: Activation,
        stride: usize,
    ) -> Self {
        let mut block = Sequential::new(vec![]);
        if expanded != i {
            block.push(conv_norm(i, expanded, 1, 1, 1, activation));
        }
        block.push(conv_norm(expanded, expanded, kernel, stride, expanded, activation));
        if squeeze {
            block.push(SqueezeExcitation::new(expanded));
        }
        block.push(conv_norm(expanded, o, 1, 1, 1, Activation::None));
        Self { block, use_res_connect: stride == 1 && i == o }
    }

    pub(crate) fn forward(&self, input: &Tensor) -> Tensor {
        let mut result = self.block.forward(input);
        if self.use_res_connect {
            result += input;
        }
        result
    }
}

#[traceable]
pub(crate) struct MobileNetV3 {
    features: Layers,
    avgpool: nn::AdaptiveAvgPool2d,
    classifier: Sequential<(nn::Linear, nn::Hardswish, nn::Dropout, nn::Linear)>,
}

#[traceable]
impl MobileNetV3 {
    pub(crate) fn large() -> Self {
        use Activation::{Hardswish, Relu};
        let mut features = Sequential::new(vec![]);
        features.push(conv_norm(3, 16, 3, 2, 1, Hardswish));
        for (i, kernel, expanded, o, squeeze, activation, stride) in [
            (16, 3, 16, 16, false, Relu, 1),
            (16, 3, 64, 24, false, Relu, 2),
            (24, 3, 72, 24, false, Relu, 1),
            (24, 5, 72, 40, true, Relu, 2),
            (40, 5, 120, 40, true, Relu, 1),
            (40, 5, 120, 40, true, Relu, 1),
            (40, 3, 240, 80, false, Hardswish, 2),
            (80, 3, 200, 80, false, Hardswish, 1),
            (80, 3, 184, 80, false, Hardswish, 1),
            (80, 3, 184, 80, false, Hardswish, 1),
            (80, 3, 480, 112, true, Hardswish, 1),
            (112, 3, 672, 112, true, Hardswish, 1),
            (112, 5, 672, 160, true, Hardswish, 2),
            (160, 5, 960, 160, true, Hardswish, 1),
            (160, 5, 960, 160, true, Hardswish, 1),
        ] {
            features.push(InvertedResidual::new(i, kernel, expanded, o, squeeze, activation, stride));
        }
        features.push(conv_norm(160, 960, 1, 1, 1, Hardswish));
        let (linear1, linear2) = (nn::Linear::new(960, 1280), nn::Linear::new(1280, 1000));
        Self {
            features,
            avgpool: nn::AdaptiveAvgPool2d::new(1),
            classifier: Sequential::new((linear1, nn::Hardswish::new(), nn::Dropout::new(0.2), linear2)),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.avgpool.forward(self.features.forward(x));
        self.classifier.forward(x.flatten_with(FlattenOptions::new().start_dim(1)))
    }
}
