//! A symbolic size where Rust takes a number.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let line = "-".repeat(x.size(0));
    x * line.len() as f64
}

fn main() {}
