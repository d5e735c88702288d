//! A result stored as a number.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let scale: f64 = x.max();
    x * scale
}

fn main() {}
