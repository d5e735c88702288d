//! Tables of vectors.

use fx::functional;
use fx::ops::{EmbeddingBagOptions, EmbeddingOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::settings::Source;

/// A table of normal vectors, with zeros at `padding_idx`.
fn table(num_embeddings: usize, embedding_dim: usize, padding_idx: Option<usize>) -> Parameter {
    let weight = init::normal(&[num_embeddings, embedding_dim], 1.0);
    let Some(padding_idx) = padding_idx else { return weight };
    let keep = (0..num_embeddings).map(|row| f32::from(u8::from(row != padding_idx))).collect();
    Parameter::new(weight.tensor() * Tensor::from_vec([num_embeddings, 1], keep))
}

/// Looks vectors up by their numbers, as `torch.nn.Embedding`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `[num_embeddings, embedding_dim]`, normal
    pub weight: Parameter,
    num_embeddings: usize,
    embedding_dim: usize,
    padding_idx: Option<usize>,
}

#[traceable]
impl Embedding {
    /// A table of `num_embeddings` vectors of `embedding_dim` elements.
    pub fn new(num_embeddings: usize, embedding_dim: usize) -> Self {
        Self { weight: table(num_embeddings, embedding_dim, None), num_embeddings, embedding_dim, padding_idx: None }
    }

    /// Sets the number whose vector starts as zeros and is not trained.
    #[must_use]
    pub fn padding_idx(mut self, padding_idx: usize) -> Self {
        self.padding_idx = Some(padding_idx);
        self.weight = table(self.num_embeddings, self.embedding_dim, self.padding_idx);
        self
    }

    /// `input`: integers `[*]`; gives `[*, embedding_dim]`.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        let options = EmbeddingOptions::new().padding_idx(self.padding_idx.map(|index| index as i64));
        functional::embedding_with(input, &self.weight, options)
    }

    fn extra_repr(&self) -> String {
        let padding = self.padding_idx.map_or_else(String::new, |index| format!(", padding_idx={index}"));
        format!("{}, {}{padding}", self.num_embeddings, self.embedding_dim)
    }

    fn constructor(&self) -> String {
        Source::new("Embedding", format_args!("{}, {}", self.num_embeddings, self.embedding_dim))
            .optional("padding_idx", self.padding_idx)
            .text()
    }
}

/// Sums, averages or maxima of vectors looked up by their numbers, as `torch.nn.EmbeddingBag`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct EmbeddingBag {
    /// `[num_embeddings, embedding_dim]`, normal
    pub weight: Parameter,
    num_embeddings: usize,
    embedding_dim: usize,
    mode: &'static str,
    include_last_offset: bool,
    padding_idx: Option<usize>,
}

#[traceable]
impl EmbeddingBag {
    /// Averages of `num_embeddings` vectors of `embedding_dim` elements.
    pub fn new(num_embeddings: usize, embedding_dim: usize) -> Self {
        Self {
            weight: table(num_embeddings, embedding_dim, None),
            num_embeddings,
            embedding_dim,
            mode: "mean",
            include_last_offset: false,
            padding_idx: None,
        }
    }

    /// Sets how vectors are put together: `"mean"`, `"sum"` or `"max"`.
    #[must_use]
    pub fn mode(mut self, mode: &'static str) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether `offsets` has the end of the last bag too.
    #[must_use]
    pub fn include_last_offset(mut self, include_last_offset: bool) -> Self {
        self.include_last_offset = include_last_offset;
        self
    }

    /// Sets the number whose vector starts as zeros and does not count.
    #[must_use]
    pub fn padding_idx(mut self, padding_idx: usize) -> Self {
        self.padding_idx = Some(padding_idx);
        self.weight = table(self.num_embeddings, self.embedding_dim, self.padding_idx);
        self
    }

    /// `input`: integers `[B, N]`, or `[N]` with the start of each bag in `offsets` `[B]`; gives
    /// `[B, embedding_dim]`. `per_sample_weights` is shaped as `input`.
    pub fn forward(&self, input: &Tensor, offsets: Option<&Tensor>, per_sample_weights: Option<&Tensor>) -> Tensor {
        let options = EmbeddingBagOptions::new()
            .mode(self.mode)
            .include_last_offset(self.include_last_offset)
            .padding_idx(self.padding_idx.map(|index| index as i64));
        functional::embedding_bag_with(input, &self.weight, offsets, per_sample_weights, options)
    }

    fn extra_repr(&self) -> String {
        let padding = self.padding_idx.map_or_else(String::new, |index| format!(", padding_idx={index}"));
        format!("{}, {}, mode='{}'{padding}", self.num_embeddings, self.embedding_dim, self.mode)
    }

    fn constructor(&self) -> String {
        Source::new("EmbeddingBag", format_args!("{}, {}", self.num_embeddings, self.embedding_dim))
            .option("mode", self.mode, "mean")
            .option("include_last_offset", self.include_last_offset, false)
            .optional("padding_idx", self.padding_idx)
            .text()
    }
}
