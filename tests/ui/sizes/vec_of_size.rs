//! A vector of symbolic length.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let many = vec![x.clone(); x.size(0)];
    Tensor::stack(many)
}

fn main() {}
