//! Expansions where the crate has another name, nothing is in scope, warnings are errors, and the edition is 2021. The
//! test `hygiene` of the workspace compiles the same source in the edition 2024.

#![no_implicit_prelude]
#![deny(warnings)]

use ::core::clone::Clone;
use ::core::default::Default;
use ::core::iter::Iterator;
use ::core::option::Option::{self, Some};
use ::std::vec::Vec;

use ::flux::prelude::*;

#[traceable(crate = ::flux)]
#[derive(Clone)]
/// A model.
pub struct Model {
    weight: Parameter,
    mean: Buffer,
    layers: Vec<::flux::nn::Linear>,
    activate: bool,
}

/// A structure of tensors.
#[traceable(crate = ::flux)]
pub struct Both {
    /// One.
    pub left: Tensor,
    /// The other.
    pub right: Tensor,
}

#[traceable(crate = ::flux)]
impl Model {
    /// A model of two layers.
    pub fn new() -> Self {
        Self {
            weight: Parameter::new(Tensor::zeros([3])),
            mean: Buffer::new(Tensor::zeros([3])),
            layers: ::std::vec![::flux::nn::Linear::new(3, 3), ::flux::nn::Linear::new(3, 3)],
            activate: true,
        }
    }

    fn combine(&self, xs: &[Tensor], factor: f64) -> Tensor {
        let mut sum = xs[0].clone() * factor;
        for x in xs {
            sum += x;
        }
        if xs.len() > 2 && self.activate {
            sum.relu()
        } else {
            sum
        }
    }

    /// Comparisons, loops, closures, casts, lists, structures, sizes, helpers, printing.
    pub fn forward(&self, x: &Tensor, optional: Option<Tensor>, twice: bool) -> Both<Tensor> {
        let mut y = x - &self.mean;
        for layer in &self.layers {
            y = layer.forward(y);
        }
        let list: Vec<Tensor> = ::std::vec![y.clone(), (&y > 0.0) * x, &self.weight * x];
        for (i, part) in list.iter().enumerate() {
            y = if i > 0 && twice { y + part * i as f64 } else { y };
        }
        if let Some(optional) = optional {
            y = y.where_(&optional > 0.5, optional) / x.size(0);
        }
        ::core::debug_assert!(list.len() == 3, "{} parts", list.len());
        Both { left: self.combine(&list, list.len() as f64), right: doubled(y, 1.0) }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

/// A node.
#[::flux::wrap(crate = ::flux)]
pub fn doubled(x: Tensor, factor: f64) -> Tensor {
    x * 2.0 * factor
}

/// A function of tensors.
#[traceable(crate = ::flux)]
pub fn sum(xs: &[Tensor], scale: f64) -> Tensor {
    let mut sum = Tensor::zeros([3]);
    for x in xs {
        sum += x;
    }
    sum * scale
}

/// Captures the model.
///
/// # Errors
/// If it cannot be captured.
pub fn capture() -> ::flux::Result<::flux::GraphModule> {
    ::flux::trace_with(&Model::new(), (true,))
}
