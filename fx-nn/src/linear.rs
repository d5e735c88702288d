//! Fully connected layers, and the layer that does nothing.

use fx::functional;
use fx::prelude::*;
use fx_macros::traceable;

use crate::init;
use crate::settings::{Marker, Source, flag};

/// `y = x W^T + b`, as `torch.nn.Linear`: `[*, in_features]` to `[*, out_features]`.
///
/// `weight` is `[out_features, in_features]`, `bias` `[out_features]`, both uniform within one over the root of
/// `in_features`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[out_features, in_features]`
    pub weight: Parameter,
    /// `[out_features]`
    pub bias: Option<Parameter>,
    in_features: usize,
    out_features: usize,
}

#[traceable]
impl Linear {
    /// A layer with bias.
    pub fn new(in_features: usize, out_features: usize) -> Self {
        let bound = init::fan_in_bound(in_features);
        let weight = init::uniform(&[out_features, in_features], bound);
        Self { weight, bias: Some(init::uniform(&[out_features], bound)), in_features, out_features }
    }

    /// A layer without bias: `new(in_features, out_features).bias(false)`.
    pub fn without_bias(in_features: usize, out_features: usize) -> Self {
        Self::new(in_features, out_features).bias(false)
    }

    /// Sets whether there is a bias.
    #[must_use]
    pub fn bias(mut self, bias: bool) -> Self {
        let bound = init::fan_in_bound(self.in_features);
        self.bias = bias.then(|| self.bias.take().unwrap_or_else(|| init::uniform(&[self.out_features], bound)));
        self
    }

    /// `input`: `[*, in_features]`; gives `[*, out_features]`.
    pub fn forward(&self, input: &Tensor) -> Tensor {
        functional::linear(input, &self.weight, &self.bias)
    }

    fn extra_repr(&self) -> String {
        let bias = flag(self.bias.is_some());
        format!("in_features={}, out_features={}, bias={bias}", self.in_features, self.out_features)
    }

    fn constructor(&self) -> String {
        Source::new("Linear", format_args!("{}, {}", self.in_features, self.out_features))
            .option("bias", self.bias.is_some(), true)
            .text()
    }
}

/// `y = x1 A x2 + b`, as `torch.nn.Bilinear`.
#[traceable(leaf)]
#[derive(Clone, Debug)]
pub struct Bilinear {
    /// `[out_features, in1_features, in2_features]`
    pub weight: Parameter,
    /// `[out_features]`
    pub bias: Option<Parameter>,
    in1_features: usize,
    in2_features: usize,
    out_features: usize,
}

#[traceable]
impl Bilinear {
    /// A layer with bias.
    pub fn new(in1_features: usize, in2_features: usize, out_features: usize) -> Self {
        let bound = init::fan_in_bound(in1_features);
        let weight = init::uniform(&[out_features, in1_features, in2_features], bound);
        Self { weight, bias: Some(init::uniform(&[out_features], bound)), in1_features, in2_features, out_features }
    }

    /// Sets whether there is a bias.
    #[must_use]
    pub fn bias(mut self, bias: bool) -> Self {
        let bound = init::fan_in_bound(self.in1_features);
        self.bias = bias.then(|| self.bias.take().unwrap_or_else(|| init::uniform(&[self.out_features], bound)));
        self
    }

    /// `input1`: `[*, in1_features]`, `input2`: `[*, in2_features]`; gives `[*, out_features]`.
    pub fn forward(&self, input1: &Tensor, input2: &Tensor) -> Tensor {
        functional::bilinear(input1, input2, &self.weight, &self.bias)
    }

    fn extra_repr(&self) -> String {
        format!(
            "in1_features={}, in2_features={}, out_features={}, bias={}",
            self.in1_features,
            self.in2_features,
            self.out_features,
            flag(self.bias.is_some())
        )
    }

    fn constructor(&self) -> String {
        let arguments = format!("{}, {}, {}", self.in1_features, self.in2_features, self.out_features);
        Source::new("Bilinear", arguments).option("bias", self.bias.is_some(), true).text()
    }
}

/// Gives its input, as `torch.nn.Identity`.
#[traceable(leaf)]
#[derive(Clone, Debug, Default)]
pub struct Identity {
    marker: Marker,
}

#[traceable]
impl Identity {
    /// The identity.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives `input`.
    pub fn forward(&self, input: Tensor) -> Tensor {
        input
    }

    fn constructor(&self) -> String {
        Source::new("Identity", "").text()
    }
}
