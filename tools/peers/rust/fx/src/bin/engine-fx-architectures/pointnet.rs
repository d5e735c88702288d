//! PointNet: Qi et al. (2017).

use fx::nn::{self, AnyLayer, Sequential};
use fx::ops::AmaxOptions;
use fx::prelude::*;

type Layers = Sequential<Vec<AnyLayer>>;

fn points(widths: &[usize]) -> Layers {
    let mut layers = Sequential::new(vec![]);
    for pair in widths.windows(2) {
        layers.push(nn::Conv1d::new(pair[0], pair[1], 1));
        layers.push(nn::BatchNorm1d::new(pair[1]));
        layers.push(nn::ReLU::new());
    }
    layers
}

fn every(widths: &[usize]) -> Layers {
    let mut layers = Sequential::new(vec![]);
    for pair in widths.windows(2) {
        layers.push(nn::Linear::new(pair[0], pair[1]));
        layers.push(nn::BatchNorm1d::new(pair[1]));
        layers.push(nn::ReLU::new());
    }
    layers
}

/// A matrix for points.
#[traceable]
#[derive(Clone)]
struct Transform {
    k: usize,
    points: Layers,
    all: Layers,
    out: nn::Linear,
}

#[traceable]
impl Transform {
    fn new(k: usize) -> Self {
        Self { k, points: points(&[k, 64, 128, 1024]), all: every(&[1024, 512, 256]), out: nn::Linear::new(256, k * k) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let all = self.points.forward(x).amax_with(AmaxOptions::new().dim([2]));
        let matrix = self.out.forward(self.all.forward(all)).view((-1, self.k, self.k)) + Tensor::eye(self.k);
        x.transpose(1, 2).matmul(matrix).transpose(1, 2)
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct PointNet {
    input_transform: Transform,
    feature_transform: Transform,
    points1: Layers,
    points2: Layers,
    all: Layers,
    out: nn::Linear,
}

#[traceable]
impl PointNet {
    pub(crate) fn new() -> Self {
        Self {
            input_transform: Transform::new(3),
            feature_transform: Transform::new(64),
            points1: points(&[3, 64, 64]),
            points2: points(&[64, 64, 128, 1024]),
            all: every(&[1024, 512, 256]),
            out: nn::Linear::new(256, 40),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.points1.forward(self.input_transform.forward(x));
        let x = self.points2.forward(self.feature_transform.forward(x)).amax_with(AmaxOptions::new().dim([2]));
        self.out.forward(self.all.forward(x))
    }
}
