//! Wav2Vec 2.0 as Hugging Face writes it: Baevski et al. (2020).

use fx::nn;
use fx::ops::FlattenOptions;
use fx::prelude::*;

const WIDTH: usize = 768;
const HEADS: i64 = 12;

#[traceable]
#[derive(Clone)]
struct ConvLayer {
    conv: nn::Conv1d,
    layer_norm: Option<nn::GroupNorm>,
}

#[traceable]
impl ConvLayer {
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv.forward(x);
        match &self.layer_norm {
            Some(norm) => norm.forward(x).gelu(),
            None => x.gelu(),
        }
    }
}

#[traceable]
#[derive(Clone)]
struct FeatureExtractor {
    conv_layers: Vec<ConvLayer>,
}

#[traceable]
#[derive(Clone)]
struct FeatureProjection {
    layer_norm: nn::LayerNorm,
    projection: nn::Linear,
}

#[traceable]
#[derive(Clone)]
struct PositionalConv {
    conv: nn::Conv1d,
}

#[traceable]
impl PositionalConv {
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv.forward(x.transpose(1, 2));
        x.index((.., .., ..-1)).gelu().transpose(1, 2)
    }
}

#[traceable]
#[derive(Clone)]
struct Attention {
    k_proj: nn::Linear,
    v_proj: nn::Linear,
    q_proj: nn::Linear,
    out_proj: nn::Linear,
}

#[traceable]
impl Attention {
    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let heads = |y: Tensor| y.unflatten(-1, [HEADS, -1]).transpose(1, 2);
        let (q, k, v) = (heads(self.q_proj.forward(x)), heads(self.k_proj.forward(x)), heads(self.v_proj.forward(x)));
        let y = q.scaled_dot_product_attention(k, v, None);
        self.out_proj.forward(y.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2)))
    }
}

#[traceable]
#[derive(Clone)]
struct FeedForward {
    intermediate_dense: nn::Linear,
    output_dense: nn::Linear,
}

#[traceable]
#[derive(Clone)]
struct Layer {
    attention: Attention,
    layer_norm: nn::LayerNorm,
    feed_forward: FeedForward,
    final_layer_norm: nn::LayerNorm,
}

#[traceable]
impl Layer {
    fn new() -> Self {
        let linear = || nn::Linear::new(WIDTH, WIDTH);
        let norm = || nn::LayerNorm::new(WIDTH);
        let (intermediate_dense, output_dense) = (nn::Linear::new(WIDTH, 4 * WIDTH), nn::Linear::new(4 * WIDTH, WIDTH));
        Self {
            attention: Attention { k_proj: linear(), v_proj: linear(), q_proj: linear(), out_proj: linear() },
            layer_norm: norm(),
            feed_forward: FeedForward { intermediate_dense, output_dense },
            final_layer_norm: norm(),
        }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.layer_norm.forward(x + self.attention.forward(x));
        let y = self.feed_forward.intermediate_dense.forward(&x).gelu();
        self.final_layer_norm.forward(x + self.feed_forward.output_dense.forward(y))
    }
}

#[traceable]
#[derive(Clone)]
struct Encoder {
    pos_conv_embed: PositionalConv,
    layer_norm: nn::LayerNorm,
    layers: Vec<Layer>,
}

#[traceable]
#[derive(Clone)]
struct Model {
    feature_extractor: FeatureExtractor,
    feature_projection: FeatureProjection,
    encoder: Encoder,
}

#[traceable]
#[derive(Clone)]
pub(crate) struct Wav2Vec2 {
    model: Model,
}

#[traceable]
impl Wav2Vec2 {
    pub(crate) fn new() -> Self {
        let sizes = [(10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)];
        let conv = |(index, (kernel, stride))| ConvLayer {
            conv: nn::Conv1d::new(if index == 0 { 1 } else { 512 }, 512, kernel).stride(stride).bias(false),
            layer_norm: (index == 0).then(|| nn::GroupNorm::new(512, 512)),
        };
        let conv_layers = sizes.into_iter().enumerate().map(conv).collect();
        let encoder = Encoder {
            pos_conv_embed: PositionalConv { conv: nn::Conv1d::new(WIDTH, WIDTH, 128).padding(64).groups(16) },
            layer_norm: nn::LayerNorm::new(WIDTH),
            layers: (0..12).map(|_| Layer::new()).collect(),
        };
        let feature_projection =
            FeatureProjection { layer_norm: nn::LayerNorm::new(512), projection: nn::Linear::new(512, WIDTH) };
        Self { model: Model { feature_extractor: FeatureExtractor { conv_layers }, feature_projection, encoder } }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Tensor {
        let model = &self.model;
        let mut x = x.unsqueeze(1);
        for layer in &model.feature_extractor.conv_layers {
            x = layer.forward(x);
        }
        let x = model.feature_projection.layer_norm.forward(x.transpose(1, 2));
        let x = model.feature_projection.projection.forward(x);
        let mut x = model.encoder.layer_norm.forward(&x + model.encoder.pos_conv_embed.forward(&x));
        for layer in &model.encoder.layers {
            x = layer.forward(x);
        }
        x
    }
}
