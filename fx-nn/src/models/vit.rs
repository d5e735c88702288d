//! The vision transformer: Dosovitskiy et al., "An Image is Worth 16x16 Words" (2021).
//!
//! Names and details are torchvision's.

use fx::ops::{CatOptions, FlattenOptions};
use fx::prelude::*;
use fx_macros::traceable;
use indexmap::IndexMap;

use crate::{Conv2d, Dropout, GELU, LayerNorm, Linear, MultiheadAttention, Sequential, init};

/// The hyper-parameters of a [`VisionTransformer`].
#[derive(Clone, Debug, PartialEq)]
pub struct VisionTransformerConfig {
    /// The height and width of images.
    pub image_size: usize,
    /// The height and width of patches.
    pub patch_size: usize,
    /// The number of encoder layers.
    pub num_layers: usize,
    /// The number of attention heads.
    pub num_heads: usize,
    /// The width of tokens.
    pub hidden_dim: usize,
    /// The width of the hidden layer of each perceptron.
    pub mlp_dim: usize,
    /// The probability of dropout.
    pub dropout: f64,
    /// The probability of dropout of attention weights.
    pub attention_dropout: f64,
    /// The number of logits.
    pub num_classes: usize,
}

impl VisionTransformerConfig {
    /// ViT-B/16.
    pub fn vit_b_16() -> Self {
        Self {
            image_size: 224,
            patch_size: 16,
            num_layers: 12,
            num_heads: 12,
            hidden_dim: 768,
            mlp_dim: 3072,
            dropout: 0.0,
            attention_dropout: 0.0,
            num_classes: 1000,
        }
    }
}

/// The perceptron of an encoder layer.
type MlpBlock = Sequential<(Linear, GELU, Dropout, Linear, Dropout)>;

fn mlp_block(in_dim: usize, mlp_dim: usize, dropout: f64) -> MlpBlock {
    let linear = |inputs: usize, outputs: usize| {
        let mut linear = Linear::new(inputs, outputs);
        linear.weight = init::uniform(&[outputs, inputs], (6.0 / (inputs + outputs) as f64).sqrt());
        linear.bias = Some(init::normal(&[outputs], 1e-6));
        linear
    };
    Sequential::new((
        linear(in_dim, mlp_dim),
        GELU::new(),
        Dropout::new(dropout),
        linear(mlp_dim, in_dim),
        Dropout::new(dropout),
    ))
}

/// A layer of the encoder, normalised before its parts.
#[traceable]
#[derive(Clone, Debug)]
pub struct EncoderBlock {
    ln_1: LayerNorm,
    self_attention: MultiheadAttention,
    dropout: Dropout,
    ln_2: LayerNorm,
    mlp: MlpBlock,
}

#[traceable]
impl EncoderBlock {
    fn new(config: &VisionTransformerConfig) -> Self {
        let hidden_dim = config.hidden_dim;
        Self {
            ln_1: LayerNorm::new(hidden_dim).eps(1e-6),
            self_attention: MultiheadAttention::new(hidden_dim, config.num_heads)
                .dropout(config.attention_dropout)
                .batch_first(true),
            dropout: Dropout::new(config.dropout),
            ln_2: LayerNorm::new(hidden_dim).eps(1e-6),
            mlp: mlp_block(hidden_dim, config.mlp_dim, config.dropout),
        }
    }

    /// `input`: `[N, length, hidden_dim]`; gives the same shape.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        let x = self.ln_1.forward(input);
        let x = self.self_attention.forward(&x, &x, &x, None, None);
        let x = self.dropout.forward(x) + input;
        let y = self.mlp.forward(self.ln_2.forward(&x));
        x + y
    }
}

/// The encoder.
#[traceable]
#[derive(Clone, Debug)]
pub struct Encoder {
    pos_embedding: Parameter,
    dropout: Dropout,
    layers: IndexMap<String, EncoderBlock>,
    ln: LayerNorm,
}

#[traceable]
impl Encoder {
    fn new(config: &VisionTransformerConfig) -> Self {
        let length = (config.image_size / config.patch_size).pow(2) + 1;
        let layer = |i| (format!("encoder_layer_{i}"), EncoderBlock::new(config));
        Self {
            pos_embedding: init::normal(&[1, length, config.hidden_dim], 0.02),
            dropout: Dropout::new(config.dropout),
            layers: (0..config.num_layers).map(layer).collect(),
            ln: LayerNorm::new(config.hidden_dim).eps(1e-6),
        }
    }

    /// `input`: `[N, length, hidden_dim]`; gives the same shape.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        let mut x = self.dropout.forward(input + &self.pos_embedding);
        for layer in self.layers.values() {
            x = layer.forward(x);
        }
        self.ln.forward(x)
    }
}

/// The classifier on the first token.
#[traceable]
#[derive(Clone, Debug)]
pub struct Heads {
    head: Linear,
}

#[traceable]
impl Heads {
    /// `x`: `[N, hidden_dim]`; gives `[N, num_classes]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.head.forward(x)
    }
}

/// A vision transformer.
#[traceable]
#[derive(Clone, Debug)]
pub struct VisionTransformer {
    class_token: Parameter,
    conv_proj: Conv2d,
    encoder: Encoder,
    heads: Heads,
    hidden_dim: usize,
}

#[traceable]
impl VisionTransformer {
    /// A transformer for images of 3 channels.
    ///
    /// # Panics
    /// If patches do not fill the image.
    #[track_caller]
    pub fn new(config: &VisionTransformerConfig) -> Self {
        let VisionTransformerConfig { image_size, patch_size, hidden_dim, num_classes, .. } = *config;
        assert!(image_size.is_multiple_of(patch_size), "patches of {patch_size} do not fill an image of {image_size}");
        let mut conv_proj = Conv2d::new(3, hidden_dim, patch_size).stride(patch_size);
        conv_proj.weight =
            init::normal(&[hidden_dim, 3, patch_size, patch_size], (1.0 / (3 * patch_size * patch_size) as f64).sqrt());
        conv_proj.bias = Some(init::zeros(&[hidden_dim]));
        let mut head = Linear::new(hidden_dim, num_classes);
        head.weight = init::zeros(&[num_classes, hidden_dim]);
        head.bias = Some(init::zeros(&[num_classes]));
        Self {
            class_token: init::zeros(&[1, 1, hidden_dim]),
            conv_proj,
            encoder: Encoder::new(config),
            heads: Heads { head },
            hidden_dim,
        }
    }

    /// `x`: `[N, 3, image_size, image_size]`; gives logits, `[N, num_classes]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let batch = x.size(0);
        let patches = self.conv_proj.forward(x).flatten_with(FlattenOptions::new().start_dim(2)).transpose(1, 2);
        let class_token: Tensor = self.class_token.value();
        let class_token = class_token.expand((batch, -1, -1));
        let x = self.encoder.forward(Tensor::cat_with([class_token, patches], CatOptions::new().dim(1)));
        self.heads.forward(x.select(1, 0))
    }
}
