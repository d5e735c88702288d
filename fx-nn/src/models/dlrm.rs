//! The recommendation model of Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation
//! Systems" (2019).
//!
//! Names, initialisation and the interaction of features are those of Facebook's `dlrm_s_pytorch.py`.

use fx::Tensor;
use fx::ops::{CatOptions, StackOptions};
use fx_macros::traceable;
use indexmap::IndexMap;

use crate::{EmbeddingBag, Linear, init};

/// The hyper-parameters of a [`Dlrm`].
#[derive(Clone, Debug, PartialEq)]
pub struct DlrmConfig {
    /// The number of rows of each embedding table.
    pub embedding_sizes: Vec<usize>,
    /// The widths of the bottom perceptron, from the number of dense features to the width of embeddings.
    pub bottom: Vec<usize>,
    /// The widths of the top perceptron after that of its input, which follows from the others.
    pub top: Vec<usize>,
}

/// Layers by their places in a PyTorch sequence, where an activation follows each of them.
type Layers = IndexMap<usize, Linear>;

/// A perceptron for dense features, tables for sparse ones, the products of all pairs of them, and a perceptron that
/// gives the probability of a click.
#[traceable]
#[derive(Clone, Debug)]
pub struct Dlrm {
    emb_l: Vec<EmbeddingBag>,
    bot_l: Layers,
    top_l: Layers,
}

#[traceable]
impl Dlrm {
    /// A model with normal weights and uniform tables, as the authors'.
    ///
    /// # Panics
    /// If a perceptron has no layers.
    #[track_caller]
    pub fn new(config: &DlrmConfig) -> Self {
        assert!(config.bottom.len() >= 2 && !config.top.is_empty(), "both perceptrons have layers");
        let dim = config.bottom[config.bottom.len() - 1];
        let features = config.embedding_sizes.len() + 1;
        let mut top = vec![dim + features * (features - 1) / 2];
        top.extend(&config.top);
        let table = |&rows: &usize| {
            let mut table = EmbeddingBag::new(rows, dim).mode("sum");
            table.weight = init::uniform(&[rows, dim], (1.0 / rows as f64).sqrt());
            table
        };
        Self {
            emb_l: config.embedding_sizes.iter().map(table).collect(),
            bot_l: perceptron(&config.bottom),
            top_l: perceptron(&top),
        }
    }

    /// The products of all pairs of different features, beside the dense ones.
    fn interact_features(x: Tensor, sparse: Vec<Tensor>) -> Tensor {
        let features: Vec<Tensor> = std::iter::once(x.clone()).chain(sparse).collect();
        let count = features.len() as i64;
        let stacked = Tensor::stack_with(features, StackOptions::new().dim(1));
        let products = stacked.bmm(stacked.transpose(1, 2));
        let below = (1..count).map(|row| products.select(1, row).narrow(1, 0, row));
        let parts: Vec<Tensor> = std::iter::once(x).chain(below).collect();
        Tensor::cat_with(parts, CatOptions::new().dim(1))
    }

    /// `dense`: `[N, dense features]`. `offsets` and `indices` have a row for each table: `[tables, N]`, where each
    /// bag starts in the table's row of `indices`, `[tables, L]`. Gives `[N, last width]`, probabilities.
    pub fn forward(&self, dense: &Tensor, offsets: &Tensor, indices: &Tensor) -> Tensor {
        let mut x = dense.clone();
        for layer in self.bot_l.values() {
            x = layer.forward(x).relu();
        }
        let mut sparse: Vec<Tensor> = Vec::new();
        for (i, table) in self.emb_l.iter().enumerate() {
            sparse.push(table.forward(indices.get(i), Some(&offsets.get(i)), None));
        }
        let mut x = Self::interact_features(x, sparse);
        let last = self.top_l.len() - 1;
        for (i, layer) in self.top_l.values().enumerate() {
            x = layer.forward(x);
            x = if i == last { x.sigmoid() } else { x.relu() };
        }
        x
    }
}

fn perceptron(widths: &[usize]) -> Layers {
    let layer = |(i, pair): (usize, &[usize])| {
        let (inputs, outputs) = (pair[0], pair[1]);
        let mut linear = Linear::new(inputs, outputs);
        linear.weight = init::normal(&[outputs, inputs], (2.0 / (inputs + outputs) as f64).sqrt());
        linear.bias = Some(init::normal(&[outputs], (1.0 / outputs as f64).sqrt()));
        (2 * i, linear)
    };
    widths.windows(2).enumerate().map(layer).collect()
}
