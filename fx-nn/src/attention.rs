//! Attention.

use fx::Tensor;
use fx::functional;
use fx::ops::{AttentionOptions, CanonicalMaskOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::linear::Linear;
use crate::settings::Source;

/// Attention with several heads, as `torch.nn.MultiheadAttention` (Vaswani et al., 2017).
///
/// Inputs have a batch. Masks are boolean, true where a key is not looked at, or numbers that are added to the scores.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct MultiheadAttention {
    /// `[3 * embed_dim, embed_dim]`: the projections of query, key and value
    pub in_proj_weight: Parameter,
    /// `[3 * embed_dim]`, starts as zeros
    pub in_proj_bias: Option<Parameter>,
    /// The projection of the heads' results
    pub out_proj: Linear,
    training: Training,
    embed_dim: usize,
    num_heads: usize,
    dropout: f64,
    batch_first: bool,
}

#[traceable]
impl MultiheadAttention {
    /// `num_heads` heads of `embed_dim` elements together.
    ///
    /// # Panics
    /// If the heads do not divide the elements.
    #[track_caller]
    pub fn new(embed_dim: usize, num_heads: usize) -> Self {
        assert!(
            num_heads > 0 && embed_dim.is_multiple_of(num_heads),
            "{num_heads} heads do not divide {embed_dim} elements"
        );
        // Glorot and Bengio, 2010, with the sizes of the three projections together.
        let bound = (6.0 / (4 * embed_dim) as f64).sqrt();
        let attention = Self {
            in_proj_weight: init::uniform(&[3 * embed_dim, embed_dim], bound),
            in_proj_bias: None,
            out_proj: Linear::new(embed_dim, embed_dim),
            training: Training::new(),
            embed_dim,
            num_heads,
            dropout: 0.0,
            batch_first: false,
        };
        attention.bias(true)
    }

    /// Sets the probability that a weight of attention is dropped in training.
    #[must_use]
    pub fn dropout(mut self, dropout: f64) -> Self {
        self.dropout = dropout;
        self
    }

    /// Sets whether there are biases; they start as zeros.
    #[must_use]
    pub fn bias(mut self, bias: bool) -> Self {
        self.in_proj_bias = bias.then(|| init::zeros(&[3 * self.embed_dim]));
        self.out_proj.bias = bias.then(|| init::zeros(&[self.embed_dim]));
        self
    }

    /// Sets whether inputs and output are `[N, L, embed_dim]` rather than `[L, N, embed_dim]`.
    #[must_use]
    pub fn batch_first(mut self, batch_first: bool) -> Self {
        self.batch_first = batch_first;
        self
    }

    /// `query`: `[L, N, embed_dim]`, `key` and `value`: `[S, N, embed_dim]`, `key_padding_mask`: `[N, S]`,
    /// `attn_mask`: `[L, S]` or `[N * num_heads, L, S]`. Gives `[L, N, embed_dim]`.
    pub fn forward(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        key_padding_mask: Option<&Tensor>,
        attn_mask: Option<&Tensor>,
    ) -> Tensor {
        let [query, key, value] = self.project(query, key, value);
        let mask = self.mask(key_padding_mask, attn_mask);
        let dropout = if self.training.get() { self.dropout } else { 0.0 };
        let options = AttentionOptions::new().dropout_p(dropout);
        let output = functional::scaled_dot_product_attention_with(query, key, value, mask.as_ref(), options);
        self.merge(&output)
    }

    /// As [`MultiheadAttention::forward`], with the weights of attention, averaged over the heads: `[N, L, S]`.
    ///
    /// These weights have no dropout.
    pub fn forward_with_weights(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        key_padding_mask: Option<&Tensor>,
        attn_mask: Option<&Tensor>,
    ) -> (Tensor, Tensor) {
        let [query, key, value] = self.project(query, key, value);
        let mask = self.mask(key_padding_mask, attn_mask);
        let scale = 1.0 / ((self.embed_dim / self.num_heads) as f64).sqrt();
        let mut scores = (query * scale).matmul(key.transpose(-2, -1));
        if let Some(mask) = mask {
            scores += mask;
        }
        let weights = scores.softmax(-1);
        (self.merge(weights.matmul(value)), weights.mean_dim(1_i64))
    }

    /// The heads of query, key and value: `[N, num_heads, L, head_dim]`.
    fn project(&self, query: &Tensor, key: &Tensor, value: &Tensor) -> [Tensor; 3] {
        let weights: [Tensor; 3] = self.in_proj_weight.value::<Tensor>().chunk(0);
        let biases: [Option<Tensor>; 3] = match &self.in_proj_bias {
            Some(bias) => bias.value::<Tensor>().chunk::<3>(0).map(Some),
            None => [None, None, None],
        };
        let head_dim = self.embed_dim / self.num_heads;
        let mut inputs = [query, key, value].into_iter().zip(&weights).zip(&biases);
        std::array::from_fn(|_| {
            let Some(((input, weight), bias)) = inputs.next() else { return query.clone() };
            let projected = functional::linear(input, weight, bias.as_ref());
            let projected = if self.batch_first { projected } else { projected.transpose(0, 1) };
            let [batch, length, _] = projected.sizes();
            projected.reshape((batch, length, self.num_heads, head_dim)).transpose(1, 2)
        })
    }

    /// Both masks as one that is added to the scores.
    fn mask(&self, key_padding_mask: Option<&Tensor>, attn_mask: Option<&Tensor>) -> Option<Tensor> {
        let dtype = self.in_proj_weight.dtype();
        let options = || CanonicalMaskOptions::new().dtype(dtype);
        let padding = key_padding_mask.map(|mask| mask.canonical_mask_with(options()).unsqueeze(1).unsqueeze(2));
        let attention = attn_mask.map(|mask| mask.canonical_mask_with(options().num_heads(self.num_heads as i64)));
        match (padding, attention) {
            (Some(padding), Some(attention)) => Some(padding + attention),
            (padding, attention) => padding.or(attention),
        }
    }

    /// The projection of all heads' results side by side.
    fn merge(&self, heads: &Tensor) -> Tensor {
        let merged = heads.transpose(1, 2).flatten_with(fx::ops::FlattenOptions::new().start_dim(2));
        let output = self.out_proj.forward(merged);
        if self.batch_first { output } else { output.transpose(0, 1) }
    }

    fn constructor(&self) -> String {
        Source::new("MultiheadAttention", format_args!("{}, {}", self.embed_dim, self.num_heads))
            .option("dropout", self.dropout, 0.0)
            .option("bias", self.in_proj_bias.is_some(), true)
            .option("batch_first", self.batch_first, false)
            .text()
    }
}
