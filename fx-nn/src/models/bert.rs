//! BERT: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding" (2019).
//!
//! Names and details are those of Hugging Face's `BertModel`, so the sentence encoders made of it load too.

use fx::ops::FlattenOptions;
use fx::prelude::*;
use fx_macros::traceable;

use crate::{Dropout, Embedding, LayerNorm, Linear, init};

/// The hyper-parameters of a [`Bert`].
#[derive(Clone, Debug, PartialEq)]
pub struct BertConfig {
    /// The number of tokens.
    pub vocab_size: usize,
    /// The width of hidden states.
    pub hidden_size: usize,
    /// The number of layers.
    pub num_hidden_layers: usize,
    /// The number of attention heads.
    pub num_attention_heads: usize,
    /// The width of the hidden layer of each perceptron.
    pub intermediate_size: usize,
    /// The longest sequence.
    pub max_position_embeddings: usize,
    /// The number of kinds of segments.
    pub type_vocab_size: usize,
    /// Added to variances.
    pub layer_norm_eps: f64,
    /// The probability of dropout.
    pub dropout: f64,
}

impl BertConfig {
    /// `bert-base-uncased`.
    pub fn base() -> Self {
        Self {
            vocab_size: 30522,
            hidden_size: 768,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            intermediate_size: 3072,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
            dropout: 0.1,
        }
    }

    /// `sentence-transformers/all-MiniLM-L6-v2`.
    pub fn mini_lm_l6() -> Self {
        Self { hidden_size: 384, num_hidden_layers: 6, intermediate_size: 1536, ..Self::base() }
    }
}

fn linear(inputs: usize, outputs: usize) -> Linear {
    let mut linear = Linear::new(inputs, outputs);
    linear.weight = init::normal(&[outputs, inputs], 0.02);
    linear.bias = Some(init::zeros(&[outputs]));
    linear
}

fn embedding(rows: usize, width: usize) -> Embedding {
    let mut embedding = Embedding::new(rows, width);
    embedding.weight = init::normal(&[rows, width], 0.02);
    embedding
}

/// The sum of the embeddings of a token, its position and its segment.
#[traceable]
#[derive(Clone, Debug)]
pub struct BertEmbeddings {
    word_embeddings: Embedding,
    position_embeddings: Embedding,
    token_type_embeddings: Embedding,
    #[traceable(name = "LayerNorm")]
    layer_norm: LayerNorm,
    dropout: Dropout,
}

#[traceable]
impl BertEmbeddings {
    fn new(config: &BertConfig) -> Self {
        let width = config.hidden_size;
        Self {
            word_embeddings: embedding(config.vocab_size, width),
            position_embeddings: embedding(config.max_position_embeddings, width),
            token_type_embeddings: embedding(config.type_vocab_size, width),
            layer_norm: LayerNorm::new(width).eps(config.layer_norm_eps),
            dropout: Dropout::new(config.dropout),
        }
    }

    /// Both `[N, length]`; gives `[N, length, hidden_size]`.
    pub fn forward(&self, input_ids: &Tensor, token_type_ids: &Tensor) -> Tensor {
        let positions = Tensor::arange(input_ids.size(1)).unsqueeze(0);
        let words = self.word_embeddings.forward(input_ids);
        let kinds = self.token_type_embeddings.forward(token_type_ids);
        let sum = words + kinds + self.position_embeddings.forward(positions);
        self.dropout.forward(self.layer_norm.forward(sum))
    }
}

/// Queries, keys and values.
#[traceable]
#[derive(Clone, Debug)]
pub struct BertSelfAttention {
    query: Linear,
    key: Linear,
    value: Linear,
    num_attention_heads: usize,
}

#[traceable]
impl BertSelfAttention {
    fn new(config: &BertConfig) -> Self {
        let width = config.hidden_size;
        Self {
            query: linear(width, width),
            key: linear(width, width),
            value: linear(width, width),
            num_attention_heads: config.num_attention_heads,
        }
    }

    /// `x`: `[N, length, hidden_size]`; `mask` is added to the scores. Gives the shape of `x`.
    pub fn forward(&self, x: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let (batch, length) = (x.size(0), x.size(1));
        let heads = |x: Tensor| x.view((&batch, &length, self.num_attention_heads, -1)).transpose(1, 2);
        let query = heads(self.query.forward(x));
        let (key, value) = (heads(self.key.forward(x)), heads(self.value.forward(x)));
        let attended = query.scaled_dot_product_attention(key, value, mask);
        attended.transpose(1, 2).flatten_with(FlattenOptions::new().start_dim(2))
    }
}

/// What ends attention and perceptron: a linear layer, the residual, normalisation.
#[traceable]
#[derive(Clone, Debug)]
pub struct BertOutput {
    dense: Linear,
    #[traceable(name = "LayerNorm")]
    layer_norm: LayerNorm,
    dropout: Dropout,
}

#[traceable]
impl BertOutput {
    fn new(config: &BertConfig, inputs: usize) -> Self {
        Self {
            dense: linear(inputs, config.hidden_size),
            layer_norm: LayerNorm::new(config.hidden_size).eps(config.layer_norm_eps),
            dropout: Dropout::new(config.dropout),
        }
    }

    /// `x`: `[N, length, inputs]`, `residual`: `[N, length, hidden_size]`; gives the shape of `residual`.
    pub fn forward(&self, x: &Tensor, residual: &Tensor) -> Tensor {
        let x = self.dropout.forward(self.dense.forward(x));
        self.layer_norm.forward(x + residual)
    }
}

/// The attention of a layer.
#[traceable]
#[derive(Clone, Debug)]
pub struct BertAttention {
    #[traceable(name = "self")]
    self_attention: BertSelfAttention,
    output: BertOutput,
}

#[traceable]
impl BertAttention {
    fn new(config: &BertConfig) -> Self {
        Self { self_attention: BertSelfAttention::new(config), output: BertOutput::new(config, config.hidden_size) }
    }

    /// `x`: `[N, length, hidden_size]`; gives the same shape.
    pub fn forward(&self, x: &Tensor, mask: Option<&Tensor>) -> Tensor {
        self.output.forward(self.self_attention.forward(x, mask), x)
    }
}

/// The hidden layer of a layer's perceptron.
#[traceable]
#[derive(Clone, Debug)]
pub struct BertIntermediate {
    dense: Linear,
}

#[traceable]
impl BertIntermediate {
    /// `x`: `[N, length, hidden_size]`; gives `[N, length, intermediate_size]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.dense.forward(x).gelu()
    }
}

/// A layer.
#[traceable]
#[derive(Clone, Debug)]
pub struct BertLayer {
    attention: BertAttention,
    intermediate: BertIntermediate,
    output: BertOutput,
}

#[traceable]
impl BertLayer {
    fn new(config: &BertConfig) -> Self {
        Self {
            attention: BertAttention::new(config),
            intermediate: BertIntermediate { dense: linear(config.hidden_size, config.intermediate_size) },
            output: BertOutput::new(config, config.intermediate_size),
        }
    }

    /// `x`: `[N, length, hidden_size]`; gives the same shape.
    pub fn forward(&self, x: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let attended = self.attention.forward(x, mask);
        self.output.forward(self.intermediate.forward(&attended), attended)
    }
}

/// All layers.
#[traceable]
#[derive(Clone, Debug)]
pub struct BertEncoder {
    layer: Vec<BertLayer>,
}

#[traceable]
impl BertEncoder {
    /// `x`: `[N, length, hidden_size]`; gives the same shape.
    pub fn forward(&self, x: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let mut x = x.clone();
        for layer in &self.layer {
            x = layer.forward(x, mask);
        }
        x
    }
}

/// What makes one vector of a sequence.
#[traceable]
#[derive(Clone, Debug)]
pub struct BertPooler {
    dense: Linear,
}

#[traceable]
impl BertPooler {
    /// `x`: `[N, length, hidden_size]`; gives `[N, hidden_size]`.
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.dense.forward(x.select(1, 0)).tanh()
    }
}

/// BERT without a head.
#[traceable]
#[derive(Clone, Debug)]
pub struct Bert {
    embeddings: BertEmbeddings,
    encoder: BertEncoder,
    pooler: BertPooler,
}

#[traceable]
impl Bert {
    /// A model with normal weights.
    pub fn new(config: &BertConfig) -> Self {
        Self {
            embeddings: BertEmbeddings::new(config),
            encoder: BertEncoder { layer: (0..config.num_hidden_layers).map(|_| BertLayer::new(config)).collect() },
            pooler: BertPooler { dense: linear(config.hidden_size, config.hidden_size) },
        }
    }

    /// All `[N, length]`: tokens; 1 where attended to, else 0 (everywhere if absent); the kinds of segments (0 if
    /// absent). Gives the last hidden state, `[N, length, hidden_size]`, and that of the first token pooled.
    pub fn forward(
        &self,
        input_ids: &Tensor,
        attention_mask: Option<&Tensor>,
        token_type_ids: Option<&Tensor>,
    ) -> (Tensor, Tensor) {
        let token_type_ids = match token_type_ids {
            Some(ids) => ids.clone(),
            None => input_ids.zeros_like(),
        };
        let mask = attention_mask.map(|mask| {
            let mask = mask.to(DType::F32).unsqueeze(1).unsqueeze(2);
            (1.0 - mask) * f64::from(f32::MIN)
        });
        let x = self.embeddings.forward(input_ids, token_type_ids);
        let x = self.encoder.forward(x, mask.as_ref());
        let pooled = self.pooler.forward(&x);
        (x, pooled)
    }
}
