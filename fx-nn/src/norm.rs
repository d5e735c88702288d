//! Normalisation that does not look across the batch.

use fx::functional;
use fx::ops::kind::Ints;
use fx::ops::{GroupNormOptions, LayerNormOptions, LocalResponseNormOptions, RmsNormOptions};
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::settings::{Source, brief, flag, float, sizes, tuple};

/// A shape as it is given to a module: one size, or all.
fn shape_source(shape: &[usize]) -> String {
    if shape.len() == 1 { brief(shape) } else { format!("{shape:?}") }
}

/// Normalises over the last dimensions, as `torch.nn.LayerNorm` (Ba et al., 2016).
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// `normalized_shape`, starts as ones
    pub weight: Option<Parameter>,
    /// `normalized_shape`, starts as zeros
    pub bias: Option<Parameter>,
    normalized_shape: Vec<usize>,
    eps: f64,
}

#[traceable]
impl LayerNorm {
    /// Over the last dimensions, of these sizes.
    pub fn new(normalized_shape: impl Ints) -> Self {
        let shape = sizes(normalized_shape);
        Self { weight: Some(init::ones(&shape)), bias: Some(init::zeros(&shape)), normalized_shape: shape, eps: 1e-5 }
    }

    /// Sets what is added to the variance.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// Sets whether there are a weight and a bias.
    #[must_use]
    pub fn elementwise_affine(mut self, elementwise_affine: bool) -> Self {
        self.weight = elementwise_affine.then(|| init::ones(&self.normalized_shape));
        self.bias = elementwise_affine.then(|| init::zeros(&self.normalized_shape));
        self
    }

    /// Sets whether there is a bias beside the weight.
    #[must_use]
    pub fn bias(mut self, bias: bool) -> Self {
        self.bias = (bias && self.weight.is_some()).then(|| init::zeros(&self.normalized_shape));
        self
    }

    /// The same shape as `input`.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        let options = LayerNormOptions::new().eps(self.eps);
        functional::layer_norm_with(input, &self.weight, &self.bias, self.normalized_shape.as_slice(), options)
    }

    fn extra_repr(&self) -> String {
        let (affine, bias) = (flag(self.weight.is_some()), flag(self.bias.is_some()));
        let (shape, eps) = (tuple(&self.normalized_shape), float(self.eps));
        format!("{shape}, eps={eps}, elementwise_affine={affine}, bias={bias}")
    }

    fn constructor(&self) -> String {
        let affine = self.weight.is_some();
        Source::new("LayerNorm", shape_source(&self.normalized_shape))
            .option("eps", self.eps, 1e-5)
            .option("elementwise_affine", affine, true)
            .option("bias", self.bias.is_some(), affine)
            .text()
    }
}

/// Divides by the root of the mean of the squares over the last dimensions, as `torch.nn.RMSNorm` (Zhang and
/// Sennrich, 2019).
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct RMSNorm {
    /// `normalized_shape`, starts as ones
    pub weight: Option<Parameter>,
    normalized_shape: Vec<usize>,
    eps: Option<f64>,
}

#[traceable]
impl RMSNorm {
    /// Over the last dimensions, of these sizes.
    pub fn new(normalized_shape: impl Ints) -> Self {
        let shape = sizes(normalized_shape);
        Self { weight: Some(init::ones(&shape)), normalized_shape: shape, eps: None }
    }

    /// Sets what is added to the mean of the squares; by default the epsilon of the element type.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = Some(eps);
        self
    }

    /// Sets whether there is a weight.
    #[must_use]
    pub fn elementwise_affine(mut self, elementwise_affine: bool) -> Self {
        self.weight = elementwise_affine.then(|| init::ones(&self.normalized_shape));
        self
    }

    /// The same shape as `input`.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        let options = RmsNormOptions::new().eps(self.eps);
        functional::rms_norm_with(input, &self.weight, self.normalized_shape.as_slice(), options)
    }

    fn extra_repr(&self) -> String {
        let eps = self.eps.map_or_else(|| "None".to_owned(), float);
        let affine = flag(self.weight.is_some());
        format!("{}, eps={eps}, elementwise_affine={affine}", tuple(&self.normalized_shape))
    }

    fn constructor(&self) -> String {
        Source::new("RMSNorm", shape_source(&self.normalized_shape))
            .optional("eps", self.eps)
            .option("elementwise_affine", self.weight.is_some(), true)
            .text()
    }
}

/// Normalises groups of channels, as `torch.nn.GroupNorm` (Wu and He, 2018).
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct GroupNorm {
    /// `[num_channels]`, starts as ones
    pub weight: Option<Parameter>,
    /// `[num_channels]`, starts as zeros
    pub bias: Option<Parameter>,
    num_groups: usize,
    num_channels: usize,
    eps: f64,
}

#[traceable]
impl GroupNorm {
    /// `num_groups` groups of `num_channels` channels together.
    ///
    /// # Panics
    /// If the groups do not divide the channels.
    #[track_caller]
    pub fn new(num_groups: usize, num_channels: usize) -> Self {
        assert!(
            num_groups > 0 && num_channels.is_multiple_of(num_groups),
            "{num_groups} groups do not divide {num_channels} channels"
        );
        let (weight, bias) = (Some(init::ones(&[num_channels])), Some(init::zeros(&[num_channels])));
        Self { weight, bias, num_groups, num_channels, eps: 1e-5 }
    }

    /// Sets what is added to the variance.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// Sets whether there are a weight and a bias.
    #[must_use]
    pub fn affine(mut self, affine: bool) -> Self {
        self.weight = affine.then(|| init::ones(&[self.num_channels]));
        self.bias = affine.then(|| init::zeros(&[self.num_channels]));
        self
    }

    /// `input`: `[N, num_channels, *]`; gives the same shape.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        let options = GroupNormOptions::new().eps(self.eps);
        functional::group_norm_with(input, &self.weight, &self.bias, self.num_groups, options)
    }

    fn extra_repr(&self) -> String {
        let (affine, bias) = (flag(self.weight.is_some()), flag(self.bias.is_some()));
        format!("{}, {}, eps={}, affine={affine}, bias={bias}", self.num_groups, self.num_channels, float(self.eps))
    }

    fn constructor(&self) -> String {
        Source::new("GroupNorm", format_args!("{}, {}", self.num_groups, self.num_channels))
            .option("eps", self.eps, 1e-5)
            .option("affine", self.weight.is_some(), true)
            .text()
    }
}

/// Divides by the strength of neighbouring channels, as `torch.nn.LocalResponseNorm` (Krizhevsky et al., 2012).
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct LocalResponseNorm {
    size: usize,
    alpha: f64,
    beta: f64,
    k: f64,
}

#[traceable]
impl LocalResponseNorm {
    /// Over `size` neighbours.
    pub fn new(size: usize) -> Self {
        Self { size, alpha: 1e-4, beta: 0.75, k: 1.0 }
    }

    /// Sets the weight of the neighbours.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets the exponent.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    /// Sets what is added to the strength.
    #[must_use]
    pub fn k(mut self, k: f64) -> Self {
        self.k = k;
        self
    }

    /// `input`: `[N, C, *]`; gives the same shape.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        let options = LocalResponseNormOptions::new().alpha(self.alpha).beta(self.beta).k(self.k);
        functional::local_response_norm_with(input, self.size, options)
    }

    fn extra_repr(&self) -> String {
        format!("{}, alpha={}, beta={}, k={}", self.size, float(self.alpha), float(self.beta), float(self.k))
    }

    fn constructor(&self) -> String {
        Source::new("LocalResponseNorm", self.size)
            .option("alpha", self.alpha, 1e-4)
            .option("beta", self.beta, 0.75)
            .option("k", self.k, 1.0)
            .text()
    }
}
