//! Distances.

use fx::Tensor;
use fx::functional;
use fx::ops::CosineSimilarityOptions;
use fx_macros::traceable;

use crate::settings::Source;

/// The cosine of the angle between vectors along a dimension, as `torch.nn.CosineSimilarity`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct CosineSimilarity {
    dim: i64,
    eps: f64,
}

#[traceable]
impl CosineSimilarity {
    /// Along dimension 1.
    pub fn new() -> Self {
        Self { dim: 1, eps: 1e-8 }
    }

    /// Sets the dimension that the vectors lie along.
    #[must_use]
    pub fn dim(mut self, dim: i64) -> Self {
        self.dim = dim;
        self
    }

    /// Sets the least norm that a vector counts with.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// Gives the broadcast shape without the dimension.
    pub fn forward(&self, x1: &Tensor, x2: &Tensor) -> Tensor {
        let options = CosineSimilarityOptions::new().dim(self.dim).eps(self.eps);
        functional::cosine_similarity_with(x1, x2, options)
    }

    fn constructor(&self) -> String {
        Source::new("CosineSimilarity", "").option("dim", self.dim, 1).option("eps", self.eps, 1e-8).text()
    }
}

impl Default for CosineSimilarity {
    fn default() -> Self {
        Self::new()
    }
}
