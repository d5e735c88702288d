//! An encoder of Conformers, the small one without relative positions: Gulati et al. (2020).

use fx::nn;
use fx::ops::{FlattenOptions, GluOptions};
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct FeedForward {
    norm: nn::LayerNorm,
    linear1: nn::Linear,
    linear2: nn::Linear,
}

#[traceable]
impl FeedForward {
    fn new(d: usize) -> Self {
        Self { norm: nn::LayerNorm::new(d), linear1: nn::Linear::new(d, 4 * d), linear2: nn::Linear::new(4 * d, d) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        self.linear2.forward(self.linear1.forward(self.norm.forward(x)).silu())
    }
}

#[traceable]
#[derive(Clone)]
struct Convolution {
    norm: nn::LayerNorm,
    pointwise1: nn::Conv1d,
    depthwise: nn::Conv1d,
    batch_norm: nn::BatchNorm1d,
    pointwise2: nn::Conv1d,
}

#[traceable]
impl Convolution {
    fn new(d: usize, kernel: usize) -> Self {
        Self {
            norm: nn::LayerNorm::new(d),
            pointwise1: nn::Conv1d::new(d, 2 * d, 1),
            depthwise: nn::Conv1d::new(d, d, kernel).padding(kernel / 2).groups(d),
            batch_norm: nn::BatchNorm1d::new(d),
            pointwise2: nn::Conv1d::new(d, d, 1),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.pointwise1.forward(self.norm.forward(x).transpose(1, 2));
        let x = self.depthwise.forward(x.glu_with(GluOptions::new().dim(1)));
        self.pointwise2.forward(self.batch_norm.forward(x).silu()).transpose(1, 2)
    }
}

#[traceable]
#[derive(Clone)]
struct Layer {
    heads: usize,
    ffn1: FeedForward,
    convolution: Convolution,
    ffn2: FeedForward,
    attention_norm: nn::LayerNorm,
    qkv: nn::Linear,
    out: nn::Linear,
    norm: nn::LayerNorm,
}

#[traceable]
impl Layer {
    fn new(d: usize, heads: usize, kernel: usize) -> Self {
        Self {
            heads,
            ffn1: FeedForward::new(d),
            convolution: Convolution::new(d, kernel),
            ffn2: FeedForward::new(d),
            attention_norm: nn::LayerNorm::new(d),
            qkv: nn::Linear::new(d, 3 * d),
            out: nn::Linear::new(d, d),
            norm: nn::LayerNorm::new(d),
        }
    }

    fn attend(&self, x: &Tensor) -> Tensor {
        let heads = |y: &Tensor| y.unflatten(-1, [self.heads as i64, -1]).transpose(1, 2);
        let [q, k, v] = self.qkv.forward(self.attention_norm.forward(x)).chunk::<3>(-1);
        let y = heads(&q).scaled_dot_product_attention(heads(&k), heads(&v), None);
        self.out.forward(y.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2)))
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.ffn1.forward(x) * 0.5;
        let x = &x + self.attend(&x);
        let x = &x + self.convolution.forward(&x);
        self.norm.forward(&x + self.ffn2.forward(&x) * 0.5)
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Conformer {
    conv1: nn::Conv2d,
    conv2: nn::Conv2d,
    project: nn::Linear,
    layers: Vec<Layer>,
}

#[traceable]
impl Conformer {
    pub(crate) fn new() -> Self {
        let (d, heads, kernel) = (144, 4, 31);
        Self {
            conv1: nn::Conv2d::new(1, d, 3).stride(2),
            conv2: nn::Conv2d::new(d, d, 3).stride(2),
            project: nn::Linear::new(d * 19, d),
            layers: (0..16).map(|_| Layer::new(d, heads, kernel)).collect(),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv2.forward(self.conv1.forward(x.unsqueeze(1)).relu()).relu();
        let mut x = self.project.forward(x.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2)));
        for layer in &self.layers {
            x = layer.forward(x);
        }
        x
    }
}
