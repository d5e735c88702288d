//! A number where a traceable function takes a tensor.

use fx::prelude::*;

#[traceable]
fn shift(x: &Tensor) -> Tensor {
    x + 1.0
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    shift(1.0) + x
}

fn main() {}
