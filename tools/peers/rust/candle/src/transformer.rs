//! Transformers: candle's BERT, and ViT and GPT-2, which normalise before they attend.

use candle_core::{Device, IndexOp, Module, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{Activation, Conv2dConfig, LayerNorm, Linear, VarBuilder};
use candle_nn::{conv2d, embedding, layer_norm, linear, seq};
use candle_transformers::models::bert::{BertModel, Config};

use crate::Model;

const HEADS: usize = 12;
const WIDTH: usize = 768;

pub fn bert(weights: &VarBuilder<'_>, width: usize, layers: usize) -> Result<Model> {
    let config =
        Config { hidden_size: width, num_hidden_layers: layers, intermediate_size: 4 * width, ..Config::default() };
    let model = BertModel::load(weights.pp("bert"), &config)?;
    Ok(Box::new(move |ids| model.forward(ids, &ids.zeros_like()?, None)))
}

/// A layer: attention and a perceptron, each after a norm and with a way around it.
struct Block {
    norms: [LayerNorm; 2],
    qkv: Linear,
    out: Linear,
    up: Linear,
    activation: Activation,
    down: Linear,
    /// What is added to scores.
    mask: Option<Tensor>,
}

impl Block {
    fn attend(&self, x: &Tensor) -> Result<Tensor> {
        let (batch, length, width) = x.dims3()?;
        let size = width / HEADS;
        let qkv = x.apply(&self.qkv)?.reshape((batch, length, 3, HEADS, size))?.permute((2, 0, 3, 1, 4))?;
        let [q, k, v] = [qkv.i(0)?.contiguous()?, qkv.i(1)?.contiguous()?, qkv.i(2)?.contiguous()?];
        let mut scores = (q * (size as f64).powf(-0.5))?.matmul(&k.t()?)?;
        if let Some(mask) = &self.mask {
            scores = scores.broadcast_add(mask)?;
        }
        softmax_last_dim(&scores)?.matmul(&v)?.transpose(1, 2)?.flatten_from(2)?.apply(&self.out)
    }
}

impl Module for Block {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = (x + self.attend(&x.apply(&self.norms[0])?)?)?;
        let y = x.apply(&self.norms[1])?.apply(&self.up)?.apply(&self.activation)?.apply(&self.down)?;
        x + y
    }
}

pub fn vit(weights: &VarBuilder<'_>) -> Result<Model> {
    let patches = conv2d(3, WIDTH, 16, Conv2dConfig { stride: 16, ..Default::default() }, weights.pp("conv_proj"))?;
    let class = weights.get((1, 1, WIDTH), "class_token")?;
    let positions = weights.get((1, 197, WIDTH), "encoder.pos_embedding")?;
    let mut blocks = seq();
    for i in 0..12 {
        let weights = weights.pp(format!("encoder.layers.encoder_layer_{i}"));
        let qkv = weights.pp("self_attention");
        blocks = blocks.add(Block {
            norms: [layer_norm(WIDTH, 1e-6, weights.pp("ln_1"))?, layer_norm(WIDTH, 1e-6, weights.pp("ln_2"))?],
            qkv: Linear::new(qkv.get_unchecked("in_proj_weight")?, Some(qkv.get_unchecked("in_proj_bias")?)),
            out: linear(WIDTH, WIDTH, qkv.pp("out_proj"))?,
            up: linear(WIDTH, 4 * WIDTH, weights.pp("mlp.0"))?,
            activation: Activation::Gelu,
            down: linear(4 * WIDTH, WIDTH, weights.pp("mlp.3"))?,
            mask: None,
        });
    }
    let norm = layer_norm(WIDTH, 1e-6, weights.pp("encoder.ln"))?;
    let head = linear(WIDTH, 1000, weights.pp("heads.head"))?;
    Ok(Box::new(move |x| {
        let x = x.apply(&patches)?.flatten_from(2)?.transpose(1, 2)?;
        let class = class.expand((x.dim(0)?, 1, WIDTH))?;
        let x = Tensor::cat(&[&class, &x], 1)?.broadcast_add(&positions)?.apply(&blocks)?;
        x.i((.., 0))?.contiguous()?.apply(&norm)?.apply(&head)
    }))
}

/// A layer whose weight is `[inputs, outputs]`.
fn linear_transposed(weights: VarBuilder<'_>) -> Result<Linear> {
    Ok(Linear::new(weights.get_unchecked("weight")?.t()?, Some(weights.get_unchecked("bias")?)))
}

pub fn gpt2(weights: &VarBuilder<'_>) -> Result<Model> {
    const LENGTH: usize = 128;
    let weights = weights.pp("transformer");
    let tokens = embedding(50257, WIDTH, weights.pp("wte"))?;
    let positions = weights.get((1024, WIDTH), "wpe.weight")?.i(..LENGTH)?;
    let mask: Vec<f32> =
        (0..LENGTH * LENGTH).map(|i| if i % LENGTH > i / LENGTH { f32::NEG_INFINITY } else { 0.0 }).collect();
    let mask = Tensor::from_vec(mask, (LENGTH, LENGTH), &Device::Cpu)?;
    let mut blocks = seq();
    for i in 0..12 {
        let weights = weights.pp(format!("h.{i}"));
        blocks = blocks.add(Block {
            norms: [layer_norm(WIDTH, 1e-5, weights.pp("ln_1"))?, layer_norm(WIDTH, 1e-5, weights.pp("ln_2"))?],
            qkv: linear_transposed(weights.pp("attn.c_attn"))?,
            out: linear_transposed(weights.pp("attn.c_proj"))?,
            up: linear_transposed(weights.pp("mlp.c_fc"))?,
            activation: Activation::NewGelu,
            down: linear_transposed(weights.pp("mlp.c_proj"))?,
            mask: Some(mask.clone()),
        });
    }
    let norm = layer_norm(WIDTH, 1e-5, weights.pp("ln_f"))?;
    let head = Linear::new(tokens.embeddings().clone(), None);
    Ok(Box::new(move |ids| ids.apply(&tokens)?.broadcast_add(&positions)?.apply(&blocks)?.apply(&norm)?.apply(&head)))
}
