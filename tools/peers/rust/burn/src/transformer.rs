//! Transformers.

use burn_tensor::activation::{gelu, gelu_approximate};
use burn_tensor::module::{attention, conv2d, embedding, layer_norm};
use burn_tensor::ops::{AttentionModuleOptions, ConvOptions};
use burn_tensor::{Int, Tensor};
use protocol::Result;

use crate::{Linear, Model, Weights};

const HEADS: usize = 12;

struct Norm {
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
}

impl Norm {
    fn new(weights: &Weights<'_>, path: &str, epsilon: f64) -> Result<Self> {
        let get = |name: &str| weights.get(&format!("{path}.{name}"));
        Ok(Self { weight: get("weight")?, bias: get("bias")?, epsilon })
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        layer_norm(x, self.weight.clone(), Some(self.bias.clone()), self.epsilon)
    }
}

/// A layer: attention and a perceptron, each with a way around it and with a norm, before it or after both.
struct Block {
    norms: [Norm; 2],
    qkv: Linear,
    out: Linear,
    up: Linear,
    activation: fn(Tensor<3>) -> Tensor<3>,
    down: Linear,
    norm_first: bool,
    causal: bool,
}

impl Block {
    fn attend(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, length, width] = x.dims();
        let parts = self.qkv.forward(x).chunk(3, 2).into_iter();
        let heads = parts.map(|part| part.reshape([batch, length, HEADS, width / HEADS]).swap_dims(1, 2));
        let [q, k, v] = heads.collect::<Vec<_>>().try_into().expect("three parts");
        let options = AttentionModuleOptions { is_causal: self.causal, ..Default::default() };
        self.out.forward(attention(q, k, v, None, None, options).swap_dims(1, 2).reshape([batch, length, width]))
    }

    fn perceptron(&self, x: Tensor<3>) -> Tensor<3> {
        self.down.forward((self.activation)(self.up.forward(x)))
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [first, second] = &self.norms;
        if self.norm_first {
            let x = x.clone() + self.attend(first.forward(x));
            x.clone() + self.perceptron(second.forward(x))
        } else {
            let x = first.forward(x.clone() + self.attend(x));
            second.forward(x.clone() + self.perceptron(x))
        }
    }
}

pub fn vit(weights: &Weights<'_>) -> Result<Model<Tensor<4>, 2>> {
    let (patches, bias) = (weights.get("conv_proj.weight")?, weights.get("conv_proj.bias")?);
    let class: Tensor<3> = weights.get("class_token")?;
    let positions: Tensor<3> = weights.get("encoder.pos_embedding")?;
    let mut blocks = Vec::new();
    for i in 0..12 {
        let path = format!("encoder.layers.encoder_layer_{i}");
        let linear = |name: &str| weights.linear(&format!("{path}.{name}weight"), &format!("{path}.{name}bias"));
        let norm = |name: &str| Norm::new(weights, &format!("{path}.{name}"), 1e-6);
        blocks.push(Block {
            norms: [norm("ln_1")?, norm("ln_2")?],
            qkv: linear("self_attention.in_proj_")?,
            out: linear("self_attention.out_proj.")?,
            up: linear("mlp.0.")?,
            activation: gelu,
            down: linear("mlp.3.")?,
            norm_first: true,
            causal: false,
        });
    }
    let norm = Norm::new(weights, "encoder.ln", 1e-6)?;
    let head = weights.linear("heads.head.weight", "heads.head.bias")?;
    Ok(Box::new(move |x| {
        let options = ConvOptions::new([16, 16], [0, 0], [1, 1], 1);
        let x = conv2d(x, patches.clone(), Some(bias.clone()), options).flatten::<3>(2, 3).swap_dims(1, 2);
        let [batch, _, width] = x.dims();
        let x = Tensor::cat(vec![class.clone().expand([batch, 1, width]), x], 1) + positions.clone();
        let x = blocks.iter().fold(x, |x, block| block.forward(x));
        head.forward(norm.forward(x.narrow(1, 0, 1)).squeeze_dim(1))
    }))
}

pub fn gpt2(weights: &Weights<'_>) -> Result<Model<Tensor<2, Int>, 3>> {
    let tokens: Tensor<2> = weights.get("transformer.wte.weight")?;
    let positions: Tensor<2> = weights.get("transformer.wpe.weight")?;
    let mut blocks = Vec::new();
    for i in 0..12 {
        let path = format!("transformer.h.{i}");
        // These weights are `[inputs, outputs]`.
        let linear = |name: &str| -> Result<Linear> {
            let get = |part| format!("{path}.{name}.{part}");
            Ok(Linear { weight: weights.get(&get("weight"))?, bias: weights.get(&get("bias"))? })
        };
        let norm = |name: &str| Norm::new(weights, &format!("{path}.{name}"), 1e-5);
        blocks.push(Block {
            norms: [norm("ln_1")?, norm("ln_2")?],
            qkv: linear("attn.c_attn")?,
            out: linear("attn.c_proj")?,
            up: linear("mlp.c_fc")?,
            activation: gelu_approximate,
            down: linear("mlp.c_proj")?,
            norm_first: true,
            causal: true,
        });
    }
    let norm = Norm::new(weights, "transformer.ln_f", 1e-5)?;
    let head = tokens.clone().unsqueeze::<3>().transpose(); // a view
    Ok(Box::new(move |ids: Tensor<2, Int>| {
        let length = ids.dims()[1];
        let x = embedding(tokens.clone(), ids) + positions.clone().narrow(0, 0, length).unsqueeze();
        let x = blocks.iter().fold(x, |x, block| block.forward(x));
        norm.forward(x).matmul(head.clone())
    }))
}

pub fn bert(weights: &Weights<'_>, layers: usize) -> Result<Model<Tensor<2, Int>, 3>> {
    let table = |name: &str| weights.get::<2>(&format!("bert.embeddings.{name}_embeddings.weight"));
    let (words, positions, kinds) = (table("word")?, table("position")?, table("token_type")?);
    let start = Norm::new(weights, "bert.embeddings.LayerNorm", 1e-12)?;
    let mut blocks = Vec::new();
    for i in 0..layers {
        let path = format!("bert.encoder.layer.{i}");
        let linear = |name: &str| weights.linear(&format!("{path}.{name}.weight"), &format!("{path}.{name}.bias"));
        let norm = |name: &str| Norm::new(weights, &format!("{path}.{name}.LayerNorm"), 1e-12);
        let part = |name: &str| linear(&format!("attention.self.{name}"));
        let (q, k, v) = (part("query")?, part("key")?, part("value")?);
        blocks.push(Block {
            norms: [norm("attention.output")?, norm("output")?],
            qkv: Linear {
                weight: Tensor::cat(vec![q.weight, k.weight, v.weight], 1),
                bias: Tensor::cat(vec![q.bias, k.bias, v.bias], 0),
            },
            out: linear("attention.output.dense")?,
            up: linear("intermediate.dense")?,
            activation: gelu,
            down: linear("output.dense")?,
            norm_first: false,
            causal: false,
        });
    }
    Ok(Box::new(move |ids: Tensor<2, Int>| {
        let length = ids.dims()[1];
        let rows = positions.clone().narrow(0, 0, length) + kinds.clone().narrow(0, 0, 1);
        let x = start.forward(embedding(words.clone(), ids) + rows.unsqueeze());
        blocks.iter().fold(x, |x, block| block.forward(x))
    }))
}
