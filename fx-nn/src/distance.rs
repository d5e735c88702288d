//! Distances.

use fx::Tensor;
use fx::functional;
use fx::ops::{CosineSimilarityOptions, PairwiseDistanceOptions};
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

/// The norm of the difference of vectors along the last dimension, as `torch.nn.PairwiseDistance`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct PairwiseDistance {
    p: f64,
    eps: f64,
    keepdim: bool,
}

#[traceable]
impl PairwiseDistance {
    /// The Euclidean distance.
    pub fn new() -> Self {
        Self { p: 2.0, eps: 1e-6, keepdim: false }
    }

    /// Sets which norm it is.
    #[must_use]
    pub fn p(mut self, p: impl Into<f64>) -> Self {
        self.p = p.into();
        self
    }

    /// Sets what is added to the difference.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// Sets whether the dimension stays, with the size 1.
    #[must_use]
    pub fn keepdim(mut self, keepdim: bool) -> Self {
        self.keepdim = keepdim;
        self
    }

    /// Gives the broadcast shape without the last dimension.
    pub fn forward(&self, x1: &Tensor, x2: &Tensor) -> Tensor {
        let options = PairwiseDistanceOptions::new().p(self.p).eps(self.eps).keepdim(self.keepdim);
        functional::pairwise_distance_with(x1, x2, options)
    }

    fn constructor(&self) -> String {
        let source = Source::new("PairwiseDistance", "").option("p", self.p, 2.0).option("eps", self.eps, 1e-6);
        source.option("keepdim", self.keepdim, false).text()
    }
}

impl Default for PairwiseDistance {
    fn default() -> Self {
        Self::new()
    }
}
