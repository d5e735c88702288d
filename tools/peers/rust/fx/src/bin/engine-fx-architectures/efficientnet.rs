//! EfficientNet as torchvision writes it: Tan and Le (2019).

use fx::nn::{self, AnyLayer, Sequential};
use fx::ops::FlattenOptions;
use fx::prelude::*;

type Layers = Sequential<Vec<AnyLayer>>;

fn conv_norm(i: usize, o: usize, kernel: usize, stride: usize, groups: usize, activation: bool) -> Layers {
    let mut layers = Sequential::new(vec![]);
    layers.push(nn::Conv2d::new(i, o, kernel).stride(stride).padding((kernel - 1) / 2).groups(groups).bias(false));
    layers.push(nn::BatchNorm2d::new(o));
    if activation {
        layers.push(nn::SiLU::new());
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
    fn new(channels: usize, squeeze: usize) -> Self {
        Self {
            avgpool: nn::AdaptiveAvgPool2d::new(1),
            fc1: nn::Conv2d::new(channels, squeeze, 1),
            fc2: nn::Conv2d::new(squeeze, channels, 1),
        }
    }

    pub(crate) fn forward(&self, input: &Tensor) -> Tensor {
        let scale = self.avgpool.forward(input);
        let scale = self.fc1.forward(scale).silu();
        self.fc2.forward(scale).sigmoid() * input
    }
}

/// Each row of the batch is dropped with a probability, in training.
#[traceable]
#[derive(Clone)]
struct StochasticDepth {
    p: f64,
    training: Training,
}

#[traceable]
impl StochasticDepth {
    fn new(p: f64) -> Self {
        Self { p, training: Training::default() }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        if !self.training.get() || self.p == 0.0 {
            return x.clone();
        }
        let keep = 1.0 - self.p;
        let noise = Tensor::rand((x.size(0), 1, 1, 1));
        x * (noise.lt(keep) / keep)
    }
}

#[traceable]
#[derive(Clone)]
struct MBConv {
    block: Layers,
    stochastic_depth: StochasticDepth,
    use_res_connect: bool,
}

#[traceable]
impl MBConv {
    fn new(ratio: usize, kernel: usize, stride: usize, i: usize, o: usize, p: f64) -> Self {
        let expanded = i * ratio;
        let mut block = Sequential::new(vec![]);
        if expanded != i {
            block.push(conv_norm(i, expanded, 1, 1, 1, true));
        }
        block.push(conv_norm(expanded, expanded, kernel, stride, expanded, true));
        block.push(SqueezeExcitation::new(expanded, (i / 4).max(1)));
        block.push(conv_norm(expanded, o, 1, 1, 1, false));
        Self { block, stochastic_depth: StochasticDepth::new(p), use_res_connect: stride == 1 && i == o }
    }

    pub(crate) fn forward(&self, input: &Tensor) -> Tensor {
        let mut result = self.block.forward(input);
        if self.use_res_connect {
            result = self.stochastic_depth.forward(result);
            result += input;
        }
        result
    }
}

#[traceable]
pub(crate) struct EfficientNet {
    features: Layers,
    avgpool: nn::AdaptiveAvgPool2d,
    classifier: Sequential<(nn::Dropout, nn::Linear)>,
}

#[traceable]
impl EfficientNet {
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.avgpool.forward(self.features.forward(x));
        self.classifier.forward(x.flatten_with(FlattenOptions::new().start_dim(1)))
    }
}

pub(crate) fn efficientnet_b0() -> EfficientNet {
    let settings = [
        (1, 3, 1, 32, 16, 1),
        (6, 3, 2, 16, 24, 2),
        (6, 5, 2, 24, 40, 2),
        (6, 3, 2, 40, 80, 3),
        (6, 5, 1, 80, 112, 3),
        (6, 5, 2, 112, 192, 4),
        (6, 3, 1, 192, 320, 1),
    ];
    let blocks: usize = settings.iter().map(|s| s.5).sum();
    let mut block = 0;
    let mut features = Sequential::new(vec![]);
    features.push(conv_norm(3, 32, 3, 2, 1, true));
    for (ratio, kernel, stride, i, o, repeats) in settings {
        let mut stage = vec![];
        for n in 0..repeats {
            let p = 0.2 * block as f64 / blocks as f64;
            let (i, stride) = if n > 0 { (o, 1) } else { (i, stride) };
            stage.push(MBConv::new(ratio, kernel, stride, i, o, p));
            block += 1;
        }
        features.push(Sequential::new(stage));
    }
    features.push(conv_norm(320, 1280, 1, 1, 1, true));
    EfficientNet {
        features,
        avgpool: nn::AdaptiveAvgPool2d::new(1),
        classifier: Sequential::new((nn::Dropout::new(0.2), nn::Linear::new(1280, 1000))),
    }
}
