//! What is found out about models, and how they are split and drawn: shapes, costs, comparisons, parts, pictures.

mod compare;
mod cost;
mod draw;
mod models;
mod shapes;
mod split;

#[path = "../support/fill.rs"]
mod fill;
#[path = "../support/small.rs"]
mod small;

use fx::prelude::*;
use fx::value::Dim;
use fx::{Arg, GraphModule, Meta, nn};

/// Compares results tensor by tensor: plans of a whole and of its parts fuse, and so round, in other places.
#[track_caller]
fn check_close(found: &Arg<Tensor>, expected: &Arg<Tensor>) {
    let tensors = |arg: &Arg<Tensor>| {
        let mut tensors = Vec::new();
        arg.for_each(&mut |tensor: &Tensor| tensors.push(tensor.clone()));
        tensors
    };
    let (found, expected) = (tensors(found), tensors(expected));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found.all_close(expected, 1e-3, 1e-4), "off by {}", found.max_abs_diff(expected));
    }
}

#[track_caller]
fn check(actual: impl ToString, expected: &str) {
    assert_eq!(actual.to_string(), expected);
}

/// A small network of two stages: a strided convolution with its norm, then a linear layer.
#[traceable]
#[derive(Clone)]
struct Small {
    stem: Stem,
    fc: nn::Linear,
}

#[traceable]
#[derive(Clone)]
struct Stem {
    conv: nn::Conv2d,
    bn: nn::BatchNorm2d,
}

#[traceable]
impl Stem {
    fn new() -> Self {
        Self { conv: nn::Conv2d::new(3, 4, 3).stride(2).padding(1), bn: nn::BatchNorm2d::new(4) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        self.bn.forward(self.conv.forward(x)).relu()
    }
}

#[traceable]
impl Small {
    fn new() -> Self {
        Self { stem: Stem::new(), fc: nn::Linear::new(4, 2) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let pooled = self.stem.forward(x).mean_dim([2, 3]);
        self.fc.forward(pooled)
    }
}

fn small() -> GraphModule {
    let model = Small::new();
    model.eval();
    fx::trace(&model).expect("it can be captured")
}

/// `f32[N, 3, H, W]`, the height and width multiples of 32.
fn images() -> Meta {
    let symbol = |name| Dim::symbol(name, 32);
    Meta::tensor([Dim::symbol("N", 1), Dim::from(3), symbol("H"), symbol("W")], DType::F32)
}

fn image(batch: i64, size: i64) -> Meta {
    Meta::tensor([batch, 3, size, size], DType::F32)
}
