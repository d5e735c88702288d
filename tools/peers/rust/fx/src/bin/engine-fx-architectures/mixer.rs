//! MLP-Mixer S/16: Tolstikhin et al. (2021).

use fx::nn::{self, Sequential};
use fx::ops::FlattenOptions;
use fx::prelude::*;

type Mlp = Sequential<(nn::Linear, nn::GELU, nn::Linear)>;

fn mlp(i: usize, o: usize) -> Mlp {
    Sequential::new((nn::Linear::new(i, o), nn::GELU::new(), nn::Linear::new(o, i)))
}

#[traceable]
#[derive(Clone)]
struct Layer {
    norm1: nn::LayerNorm,
    norm2: nn::LayerNorm,
    tokens: Mlp,
    channels: Mlp,
}

#[traceable]
impl Layer {
    fn new(tokens: usize, d: usize) -> Self {
        let norm = || nn::LayerNorm::new(d);
        Self { norm1: norm(), norm2: norm(), tokens: mlp(tokens, d / 2), channels: mlp(d, 4 * d) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = x + self.tokens.forward(self.norm1.forward(x).transpose(1, 2)).transpose(1, 2);
        &x + self.channels.forward(self.norm2.forward(&x))
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Mixer {
    stem: nn::Conv2d,
    layers: Vec<Layer>,
    norm: nn::LayerNorm,
    head: nn::Linear,
}

#[traceable]
impl Mixer {
    pub(crate) fn new(d: usize, layers: usize) -> Self {
        Self {
            stem: nn::Conv2d::new(3, d, 16).stride(16),
            layers: (0..layers).map(|_| Layer::new(196, d)).collect(),
            norm: nn::LayerNorm::new(d),
            head: nn::Linear::new(d, 1000),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.stem.forward(x).flatten_with(FlattenOptions::new().start_dim(2)).transpose(1, 2);
        for layer in &self.layers {
            x = layer.forward(x);
        }
        self.head.forward(self.norm.forward(x).mean_dim([1]))
    }
}
