//! Models whose layers are quantized.

use fx::nn::models::Mlp;
use fx::prelude::*;
use fx::{GraphModule, nn, ops};

use super::filled;
use crate::images::Padded;

/// Layers between which stand norms, sums and activations.
#[traceable]
struct Residual {
    first: nn::Conv2d,
    norm: nn::BatchNorm2d,
    second: nn::Conv2d,
    other_norm: nn::BatchNorm2d,
    own: nn::Conv2d,
    point: nn::Conv2d,
    head: nn::Linear,
}

#[traceable]
impl Residual {
    fn new() -> Self {
        Self {
            first: nn::Conv2d::new(3, 32, 3).padding(1),
            norm: nn::BatchNorm2d::new(32),
            second: nn::Conv2d::new(32, 32, 3).padding(1).groups(2),
            other_norm: nn::BatchNorm2d::new(32),
            own: nn::Conv2d::new(32, 32, 3).padding(1).groups(32),
            point: nn::Conv2d::new(32, 32, 1),
            head: nn::Linear::new(32, 10),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.norm.forward(self.first.forward(x)).relu();
        let x = (self.other_norm.forward(self.second.forward(&x)) + &x).relu();
        let x = self.own.forward(&x).relu6() + x;
        // What is added is the input itself, which the result may be written over.
        let x = self.point.forward(&x) + x;
        self.head.forward(x.adaptive_avg_pool2d([1, 1]).flatten_with(ops::FlattenOptions::new().start_dim(1)))
    }
}

/// One weight for two layers, and a value that two layers read and that is added.
#[traceable]
#[derive(Clone)]
struct Shared {
    weight: Parameter,
    other: nn::Linear,
}

#[traceable]
impl Shared {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = x.linear(&self.weight, None).gelu() + x;
        let z = y.linear(&self.weight, None) + &y;
        (self.other.forward(&y) + z).tanh()
    }
}

#[traceable]
struct Encoder {
    layer: nn::TransformerEncoderLayer,
}

#[traceable]
impl Encoder {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x, None, None)
    }
}

/// Convolutions of what was normalised, and of a product with a number for each channel.
#[traceable]
struct Dense {
    norm: nn::BatchNorm2d,
    first: nn::Conv2d,
    gate: nn::Conv2d,
    second: nn::Conv2d,
}

#[traceable]
impl Dense {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.first.forward(self.norm.forward(x.max_pool2d([2, 2])).relu());
        let gate = self.gate.forward(x.adaptive_avg_pool2d([1, 1])).sigmoid();
        self.second.forward(&x * gate) + x
    }
}

/// Images pooled, side by side and one after the other between layers.
#[traceable]
pub(super) struct Branches {
    stem: nn::Conv2d,
    first: nn::Conv2d,
    second: nn::Conv2d,
    point: nn::Conv2d,
    halves: [nn::Conv2d; 2],
    up: nn::ConvTranspose2d,
    last: nn::Conv2d,
}

#[traceable]
impl Branches {
    pub(super) fn new() -> Self {
        let half = || nn::Conv2d::new(44, 40, 3).stride(2);
        Self {
            stem: nn::Conv2d::new(3, 32, 3).padding(1),
            first: nn::Conv2d::new(32, 24, 3).padding(1),
            second: nn::Conv2d::new(24, 12, 3).padding(1),
            point: nn::Conv2d::new(24, 16, 1),
            halves: [half(), half()],
            up: nn::ConvTranspose2d::new(40, 40, 2).stride(2),
            last: nn::Conv2d::new(40, 20, 2),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.stem.forward(x).relu().max_pool2d([2, 2]);
        let x = self.first.forward(x).relu();
        let around = ops::MaxPool2dOptions::new().stride([1, 1]).padding([2, 2]);
        let pooled = self.point.forward(x.max_pool2d_with([5, 5], around));
        let means = pooled.avg_pool2d([1, 1]);
        let sides = Tensor::cat_with([self.second.forward(x), pooled, means], ops::CatOptions::new().dim(1));
        let parts = [self.halves[0].forward(&sides).relu(), self.halves[1].forward(&sides)];
        self.last.forward(self.up.forward(Tensor::cat(parts)))
    }
}

/// A block whose sum is of two layers, and means of what layers read.
#[traceable]
struct Shortcut {
    stem: nn::Conv2d,
    second: nn::Conv2d,
    down: nn::Conv2d,
    point: nn::Conv2d,
    pooled: nn::Conv2d,
    wide: nn::Linear,
    head: nn::Linear,
}

#[traceable]
impl Shortcut {
    fn new() -> Self {
        Self {
            stem: nn::Conv2d::new(3, 32, 3).padding(1),
            second: nn::Conv2d::new(32, 48, 3).padding(1).stride(2),
            down: nn::Conv2d::new(32, 48, 1).stride(2),
            point: nn::Conv2d::new(48, 40, 1),
            pooled: nn::Conv2d::new(48, 40, 1),
            wide: nn::Linear::new(80, 1028),
            head: nn::Linear::new(1028, 10),
        }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.stem.forward(x).relu();
        let x = (self.second.forward(&x) + self.down.forward(&x)).relu();
        let around = ops::AvgPool2dOptions::new().stride([1, 1]).padding([1, 1]);
        let means = self.pooled.forward(x.avg_pool2d_with([3, 3], around));
        let gate = x.adaptive_avg_pool2d([1, 1]).mean_dim([1, 2, 3]);
        let x = Tensor::cat_with([self.point.forward(&x), means], ops::CatOptions::new().dim(1));
        let x = x.flatten_with(ops::FlattenOptions::new().start_dim(2)).transpose(1, 2);
        let x = self.wide.forward(x).relu();
        let largest = self.head.forward(&x).amax_with(ops::AmaxOptions::new().dim([1]));
        (largest + self.head.forward(x.mean_dim([1]))) * gate.unsqueeze(1)
    }
}

/// A transposed weight, attention of heads, and a sum with what is read.
#[traceable]
struct Lines {
    first: nn::Conv1d,
    second: nn::Conv1d,
    encoder: nn::TransformerEncoderLayer,
    right: Parameter,
}

#[traceable]
impl Lines {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.first.forward(x).gelu();
        let x = (self.second.forward(&x) + x).relu();
        let x = self.encoder.forward(x.transpose(1, 2), None, None);
        &x + x.matmul(&self.right)
    }
}

/// Their names, and the shapes of an image or a sequence each.
pub(super) fn models() -> Vec<(&'static str, GraphModule, Vec<usize>)> {
    let shared = Shared { weight: Parameter::new(Tensor::zeros([40, 40])), other: nn::Linear::new(40, 40) };
    let encoder = Encoder { layer: nn::TransformerEncoderLayer::new(32, 4).batch_first(true).norm_first(true) };
    let lines = Lines {
        first: nn::Conv1d::new(20, 32, 3).padding(1),
        second: nn::Conv1d::new(32, 32, 5).padding("same"),
        encoder: nn::TransformerEncoderLayer::new(32, 4).dim_feedforward(64).batch_first(true),
        right: Parameter::new(Tensor::zeros([32, 32])),
    };
    let dense = Dense {
        norm: nn::BatchNorm2d::new(20),
        first: nn::Conv2d::new(20, 32, 3).padding(1),
        gate: nn::Conv2d::new(32, 32, 1),
        second: nn::Conv2d::new(32, 32, 3).padding(1),
    };
    vec![
        ("perceptron", filled(Mlp::new(&[64, 96, 40, 10])), vec![64]),
        ("residual", filled(Residual::new()), vec![3, 12, 10]),
        ("dense", filled(dense), vec![20, 12, 10]),
        ("branches", filled(Branches::new()), vec![3, 16, 14]),
        ("encoder", filled(encoder), vec![9, 32]),
        ("shared", filled(shared), vec![7, 40]),
        ("lines", filled(lines), vec![20, 11]),
        ("shortcut", filled(Shortcut::new()), vec![3, 34, 30]),
        ("padded", filled(Padded::new()), vec![3, 19, 21]),
    ]
}
