//! A table of Rust indexed by a traced value.

use fx::prelude::*;

const TABLE: [f64; 3] = [0.5, 1.0, 2.0];

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let class = x.argmax();
    x * TABLE[class]
}

fn main() {}
