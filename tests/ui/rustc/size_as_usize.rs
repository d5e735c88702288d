//! A symbolic size where Rust takes a number.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let parts: Vec<Tensor> = Vec::with_capacity(x.size(0));
    x * parts.len() as f64
}

fn main() {}
