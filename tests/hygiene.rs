//! Expansions where nothing is in scope and warnings are errors. `tests/renamed` has the same with another name of the
//! crate and the edition 2021.

#![no_implicit_prelude]
#![deny(warnings)]

use ::core::clone::Clone;
use ::core::default::Default;
use ::core::iter::Iterator;
use ::core::option::Option::{self, Some};
use ::std::vec::Vec;

use ::fx::prelude::*;

#[traceable]
#[derive(Clone)]
/// A model.
pub struct Model {
    weight: Parameter,
    mean: Buffer,
    layers: Vec<::fx::nn::Linear>,
    activate: bool,
}

/// A structure of tensors.
#[traceable]
pub struct Both {
    /// One.
    pub left: Tensor,
    /// The other.
    pub right: Tensor,
}

#[traceable]
impl Model {
    /// A model of two layers.
    pub fn new() -> Self {
        Self {
            weight: Parameter::new(Tensor::zeros([3])),
            mean: Buffer::new(Tensor::zeros([3])),
            layers: ::std::vec![::fx::nn::Linear::new(3, 3), ::fx::nn::Linear::new(3, 3)],
            activate: true,
        }
    }

    fn combine(&self, xs: &[Tensor], factor: f64) -> Tensor {
        let mut sum = xs[0].clone() * factor;
        for x in xs {
            sum += x;
        }
        if xs.len() > 2 && self.activate { sum.relu() } else { sum }
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
#[::fx::wrap]
pub fn doubled(x: Tensor, factor: f64) -> Tensor {
    x * 2.0 * factor
}

/// A function of tensors.
#[traceable]
pub fn sum(xs: &[Tensor], scale: f64) -> Tensor {
    let mut sum = Tensor::zeros([3]);
    for x in xs {
        sum += x;
    }
    sum * scale
}

#[test]
fn it_is_captured() {
    let captured = ::fx::trace_with(&Model::new(), (true,)).unwrap();
    ::core::assert_eq!(captured.graph().placeholders().len(), 2);
    ::core::assert_eq!(sum(&[Tensor::ones([3])], 2.0).shape(), [3]);
}
