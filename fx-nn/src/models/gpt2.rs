//! GPT-2: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019).
//!
//! Names and details are those of Hugging Face's `GPT2Model`; its linear layers hold their weights transposed.

use fx::functional;
use fx::ops::{AttentionOptions, FlattenOptions, GeluOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::{Dropout, Embedding, LayerNorm, init};

/// The hyper-parameters of a [`Gpt2`].
#[derive(Clone, Debug, PartialEq)]
pub struct Gpt2Config {
    /// The number of tokens.
    pub vocab_size: usize,
    /// The longest sequence.
    pub n_positions: usize,
    /// The width of hidden states.
    pub n_embd: usize,
    /// The number of layers.
    pub n_layer: usize,
    /// The number of attention heads.
    pub n_head: usize,
    /// Added to variances.
    pub layer_norm_epsilon: f64,
    /// The probability of dropout.
    pub dropout: f64,
}

impl Default for Gpt2Config {
    /// `gpt2`, the smallest of the four sizes.
    fn default() -> Self {
        Self {
            vocab_size: 50257,
            n_positions: 1024,
            n_embd: 768,
            n_layer: 12,
            n_head: 12,
            layer_norm_epsilon: 1e-5,
            dropout: 0.1,
        }
    }
}

/// A linear layer with its weight transposed, as Hugging Face's `Conv1D`.
#[traceable]
#[derive(Clone, Debug)]
pub struct Conv1D {
    /// `[inputs, outputs]`
    pub weight: Parameter,
    /// `[outputs]`
    pub bias: Parameter,
}

#[traceable]
impl Conv1D {
    fn new(inputs: usize, outputs: usize, std: f64) -> Self {
        Self { weight: init::normal(&[inputs, outputs], std), bias: init::zeros(&[outputs]) }
    }

    /// `x`: `[*, inputs]`; gives `[*, outputs]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x.matmul(&self.weight) + &self.bias
    }
}

/// Attention to what came before.
#[traceable]
#[derive(Clone, Debug)]
pub struct Gpt2Attention {
    c_attn: Conv1D,
    c_proj: Conv1D,
    attn_dropout: f64,
    training: Training,
    resid_dropout: Dropout,
    n_head: usize,
}

#[traceable]
impl Gpt2Attention {
    fn new(config: &Gpt2Config) -> Self {
        let width = config.n_embd;
        Self {
            c_attn: Conv1D::new(width, 3 * width, 0.02),
            c_proj: Conv1D::new(width, width, residual_std(config)),
            attn_dropout: config.dropout,
            training: Training::new(),
            resid_dropout: Dropout::new(config.dropout),
            n_head: config.n_head,
        }
    }

    /// `x`: `[N, length, n_embd]`; gives the same shape.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let (batch, length) = (x.size(0), x.size(1));
        let heads = |x: Tensor| x.reshape((&batch, &length, self.n_head, -1)).transpose(1, 2);
        let [query, key, value] = self.c_attn.forward(x).chunk(2);
        let dropout = if self.training.get() { self.attn_dropout } else { 0.0 };
        let options = AttentionOptions::new().is_causal(true).dropout_p(dropout);
        let attended = heads(query).scaled_dot_product_attention_with(heads(key), heads(value), None, options);
        let x = attended.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2));
        self.resid_dropout.forward(self.c_proj.forward(x))
    }
}

/// The perceptron of a block.
#[traceable]
#[derive(Clone, Debug)]
pub struct Gpt2Mlp {
    c_fc: Conv1D,
    c_proj: Conv1D,
    dropout: Dropout,
}

#[traceable]
impl Gpt2Mlp {
    fn new(config: &Gpt2Config) -> Self {
        let width = config.n_embd;
        Self {
            c_fc: Conv1D::new(width, 4 * width, 0.02),
            c_proj: Conv1D::new(4 * width, width, residual_std(config)),
            dropout: Dropout::new(config.dropout),
        }
    }

    /// `x`: `[N, length, n_embd]`; gives the same shape.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.c_fc.forward(x).gelu_with(GeluOptions::new().approximate("tanh"));
        self.dropout.forward(self.c_proj.forward(x))
    }
}

/// A block, normalised before its parts.
#[traceable]
#[derive(Clone, Debug)]
pub struct Gpt2Block {
    ln_1: LayerNorm,
    attn: Gpt2Attention,
    ln_2: LayerNorm,
    mlp: Gpt2Mlp,
}

#[traceable]
impl Gpt2Block {
    fn new(config: &Gpt2Config) -> Self {
        Self {
            ln_1: LayerNorm::new(config.n_embd).eps(config.layer_norm_epsilon),
            attn: Gpt2Attention::new(config),
            ln_2: LayerNorm::new(config.n_embd).eps(config.layer_norm_epsilon),
            mlp: Gpt2Mlp::new(config),
        }
    }

    /// `x`: `[N, length, n_embd]`; gives the same shape.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.attn.forward(self.ln_1.forward(x)) + x;
        let y = self.mlp.forward(self.ln_2.forward(&x));
        x + y
    }
}

/// GPT-2 without a head.
#[traceable]
#[derive(Clone, Debug)]
pub struct Gpt2 {
    wte: Embedding,
    wpe: Embedding,
    drop: Dropout,
    h: Vec<Gpt2Block>,
    ln_f: LayerNorm,
}

#[traceable]
impl Gpt2 {
    /// A model with normal weights, smaller where they add to the residual.
    pub fn new(config: &Gpt2Config) -> Self {
        let embedding = |rows| {
            let mut embedding = Embedding::new(rows, config.n_embd);
            embedding.weight = init::normal(&[rows, config.n_embd], 0.02);
            embedding
        };
        Self {
            wte: embedding(config.vocab_size),
            wpe: embedding(config.n_positions),
            drop: Dropout::new(config.dropout),
            h: (0..config.n_layer).map(|_| Gpt2Block::new(config)).collect(),
            ln_f: LayerNorm::new(config.n_embd).eps(config.layer_norm_epsilon),
        }
    }

    /// `input_ids`: `[N, length]`; gives the last hidden state, `[N, length, n_embd]`.
    pub fn forward(&self, input_ids: &Tensor) -> Tensor {
        let positions = Tensor::arange(input_ids.size(1)).unsqueeze(0);
        let mut x = self.drop.forward(self.wte.forward(input_ids) + self.wpe.forward(positions));
        for block in &self.h {
            x = block.forward(x);
        }
        self.ln_f.forward(x)
    }
}

/// GPT-2 as a language model: the head has the weight of the token embedding.
#[traceable]
#[derive(Clone, Debug)]
pub struct Gpt2LmHead {
    /// The model under the head.
    pub transformer: Gpt2,
}

#[traceable]
impl Gpt2LmHead {
    /// A language model with normal weights.
    pub fn new(config: &Gpt2Config) -> Self {
        Self { transformer: Gpt2::new(config) }
    }

    /// `input_ids`: `[N, length]`; gives logits, `[N, length, vocab_size]`.
    pub fn forward(&self, input_ids: &Tensor) -> Tensor {
        let x = self.transformer.forward(input_ids);
        functional::linear(x, &self.transformer.wte.weight, None)
    }
}

/// The deviation of weights whose outputs add up over all layers.
fn residual_std(config: &Gpt2Config) -> f64 {
    0.02 / (2.0 * config.n_layer as f64).sqrt()
}
