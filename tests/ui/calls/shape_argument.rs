//! A string as a shape.

use fx::prelude::*;

fn volume(shape: impl fx::ops::kind::Sizes<Tensor>) -> Tensor {
    Tensor::zeros(shape)
}

fn flat() -> Tensor {
    volume("flat")
}

fn main() {}
