//! A function of tensors that is not traceable.

use fx::prelude::*;

fn largest(x: &Tensor) -> f64 {
    x.max().item().to_f64()
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    x * largest(x)
}

fn main() {}
