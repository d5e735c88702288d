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

/// Where tokens are, and which others they see.
#[traceable]
#[derive(Clone, Debug)]
struct Places {
    /// `[length]`
    positions: Tensor,
    /// `[length, room]`
    mask: Tensor,
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
        let (query, key, value) = self.heads(x);
        let dropout = if self.training.get() { self.attn_dropout } else { 0.0 };
        let options = AttentionOptions::new().is_causal(true).dropout_p(dropout);
        self.joined(query.scaled_dot_product_attention_with(key, value, None, options))
    }

    /// For tokens at these positions, with the keys and values of those before; gives these with the new ones.
    fn step(&self, x: &Tensor, at: &Places<Tensor>, past: (Tensor, Tensor)) -> (Tensor, (Tensor, Tensor)) {
        let (query, key, value) = self.heads(x);
        let keys = past.0.index_copy(&at.positions, key, 2);
        let values = past.1.index_copy(&at.positions, value, 2);
        let attended = query.scaled_dot_product_attention(&keys, &values, &at.mask);
        (self.joined(attended), (keys, values))
    }

    /// Queries, keys and values, `[N, n_head, length, -1]`.
    fn heads(&self, x: &Tensor) -> (Tensor, Tensor, Tensor) {
        let (batch, length) = (x.size(0), x.size(1));
        let heads = |x: Tensor| x.reshape((&batch, &length, self.n_head, -1)).transpose(1, 2);
        let [query, key, value] = self.c_attn.forward(x).chunk(2);
        (heads(query), heads(key), heads(value))
    }

    fn joined(&self, attended: Tensor) -> Tensor {
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
        self.after_attention(self.attn.forward(self.ln_1.forward(x)) + x)
    }

    fn step(&self, x: &Tensor, at: &Places<Tensor>, past: (Tensor, Tensor)) -> (Tensor, (Tensor, Tensor)) {
        let (y, past) = self.attn.step(self.ln_1.forward(x), at, past);
        (self.after_attention(y + x), past)
    }

    fn after_attention(&self, x: Tensor) -> Tensor {
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

    fn step(
        &self,
        input_ids: &Tensor,
        positions: &Tensor,
        past: Vec<(Tensor, Tensor)>,
    ) -> (Tensor, Vec<(Tensor, Tensor)>) {
        let mask = Tensor::arange(past[0].0.size(2)).le(positions.unsqueeze(1));
        let at = Places { positions: positions.clone(), mask };
        let mut x = self.drop.forward(self.wte.forward(input_ids) + self.wpe.forward(positions));
        let mut all = Vec::new();
        for (block, past) in self.h.iter().zip(past) {
            let (y, kept) = block.step(&x, &at, past);
            x = y;
            all.push(kept);
        }
        (self.ln_f.forward(x), all)
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

/// GPT-2 writing a text: tokens after others, whose keys and values it takes, and gives with the new ones. Given away, they are
/// written in place:
///
/// ```
/// use fx_nn::models::{Gpt2Config, Gpt2LmHead, Gpt2Step};
/// use fx_core::prelude::*;
/// use fx_core::trace::{InputForms, trace_by};
///
/// # fn main() -> fx_core::Result<()> {
/// let config = Gpt2Config { vocab_size: 50, n_positions: 16, n_embd: 32, n_layer: 2, n_head: 4, ..Default::default() };
/// let lm = Gpt2LmHead::new(&config); // lm.load_safetensors("model.safetensors")?
/// lm.eval();
/// let forms = InputForms::new().list("past_key_values", config.n_layer);
/// let step = trace_by(forms, &Gpt2Step { lm }, ())?;
///
/// let (mut tokens, mut done) = (vec![3_i64, 14, 15], 0);
/// let mut past = Gpt2Step::room(&config, 1);
/// while tokens.len() < config.n_positions {
///     let (from, to) = (done, tokens.len());
///     let input_ids = Tensor::from_vec([1, to - from], tokens[from..].to_vec());
///     let positions = Tensor::from_vec([to - from], (from as i64..to as i64).collect::<Vec<_>>());
///     let logits: Tensor;
///     (logits, past) = step.forward_as((input_ids, positions, past))?;
///     tokens.extend(logits.argmax().to_vec::<i64>());
///     done = to;
/// }
/// # Ok(())
/// # }
/// ```
#[traceable]
#[derive(Clone, Debug)]
pub struct Gpt2Step {
    /// The model.
    pub lm: Gpt2LmHead,
}

impl Gpt2Step {
    /// Keys and values of a text, or of `batch` texts of the same length, that has no tokens yet: for each layer `[batch, n_head,
    /// n_positions, n_embd / n_head]`.
    pub fn room(config: &Gpt2Config, batch: usize) -> Vec<(Tensor, Tensor)> {
        let shape = [batch, config.n_head, config.n_positions, config.n_embd / config.n_head];
        (0..config.n_layer).map(|_| (Tensor::zeros(shape), Tensor::zeros(shape))).collect()
    }
}

#[traceable]
impl Gpt2Step {
    /// `input_ids`: `[N, length]` at `positions`, `[length]`; gives the logits of what comes next, `[N, vocab_size]`, and the keys
    /// and values of each layer.
    pub fn forward(
        &self,
        input_ids: &Tensor,
        positions: &Tensor,
        past_key_values: Vec<(Tensor, Tensor)>,
    ) -> (Tensor, Vec<(Tensor, Tensor)>) {
        let (x, past_key_values) = self.lm.transformer.step(input_ids, positions, past_key_values);
        let logits = functional::linear(x.select(1, -1), &self.lm.transformer.wte.weight, None);
        (logits, past_key_values)
    }
}

/// The deviation of weights whose outputs add up over all layers.
fn residual_std(config: &Gpt2Config) -> f64 {
    0.02 / (2.0 * config.n_layer as f64).sqrt()
}
