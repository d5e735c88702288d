//! The decoder of a latent diffusion model's autoencoder: Rombach et al. (2022).

use fx::nn;
use fx::ops::{FlattenOptions, InterpolateOptions, SqueezeOptions};
use fx::prelude::*;

fn norm(channels: usize) -> nn::GroupNorm {
    nn::GroupNorm::new(32, channels).eps(1e-6)
}

fn conv(i: usize, o: usize) -> nn::Conv2d {
    nn::Conv2d::new(i, o, 3).padding(1)
}

#[traceable]
#[derive(Clone)]
struct Residual {
    norm1: nn::GroupNorm,
    conv1: nn::Conv2d,
    norm2: nn::GroupNorm,
    conv2: nn::Conv2d,
    conv_shortcut: Option<nn::Conv2d>,
}

#[traceable]
impl Residual {
    fn new(i: usize, o: usize) -> Self {
        let conv_shortcut = (i != o).then(|| nn::Conv2d::new(i, o, 1));
        Self { norm1: norm(i), conv1: conv(i, o), norm2: norm(o), conv2: conv(o, o), conv_shortcut }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.conv1.forward(self.norm1.forward(x).silu());
        let y = self.conv2.forward(self.norm2.forward(y).silu());
        match &self.conv_shortcut {
            Some(shortcut) => shortcut.forward(x) + y,
            None => x + y,
        }
    }
}

#[traceable]
#[derive(Clone)]
struct SpatialAttention {
    group_norm: nn::GroupNorm,
    to_q: nn::Linear,
    to_k: nn::Linear,
    to_v: nn::Linear,
    to_out: nn::Linear,
}

#[traceable]
impl SpatialAttention {
    fn new(c: usize) -> Self {
        let linear = || nn::Linear::new(c, c);
        Self { group_norm: norm(c), to_q: linear(), to_k: linear(), to_v: linear(), to_out: linear() }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let [n, c, height, width] = x.sizes();
        let h = self.group_norm.forward(x).flatten_with(FlattenOptions::new().start_dim(2));
        let h = h.transpose(1, 2).unsqueeze(1);
        let (q, k, v) = (self.to_q.forward(&h), self.to_k.forward(&h), self.to_v.forward(&h));
        let h = q.scaled_dot_product_attention(k, v, None);
        let h = self.to_out.forward(h.squeeze_with(SqueezeOptions::new().dim([1])));
        x + h.transpose(1, 2).reshape([n, c, height, width])
    }
}

#[traceable]
#[derive(Clone)]
struct Up {
    resnets: Vec<Residual>,
    conv: Option<nn::Conv2d>,
}

#[traceable]
impl Up {
    fn new(i: usize, o: usize, upsample: bool) -> Self {
        let resnets = (0..3).map(|index| Residual::new(if index == 0 { i } else { o }, o)).collect();
        Self { resnets, conv: upsample.then(|| conv(o, o)) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = x.clone();
        for resnet in &self.resnets {
            x = resnet.forward(x);
        }
        match &self.conv {
            Some(conv) => conv.forward(x.interpolate_with(InterpolateOptions::new().scale_factor(2.0))),
            None => x,
        }
    }
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Decoder {
    conv_in: nn::Conv2d,
    mid: nn::Sequential<(Residual, SpatialAttention, Residual)>,
    up: Vec<Up>,
    norm_out: nn::GroupNorm,
    conv_out: nn::Conv2d,
}

#[traceable]
impl Decoder {
    pub(crate) fn new(w: usize) -> Self {
        let widths = [4 * w, 4 * w, 4 * w, 2 * w, w];
        let mid = nn::Sequential::new((
            Residual::new(4 * w, 4 * w),
            SpatialAttention::new(4 * w),
            Residual::new(4 * w, 4 * w),
        ));
        let up = (0..4).map(|i| Up::new(widths[i], widths[i + 1], i < 3)).collect();
        Self { conv_in: conv(4, 4 * w), mid, up, norm_out: norm(w), conv_out: conv(w, 3) }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.mid.forward(self.conv_in.forward(x));
        for up in &self.up {
            x = up.forward(x);
        }
        self.conv_out.forward(self.norm_out.forward(x).silu())
    }
}
