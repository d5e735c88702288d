//! A function of numbers.

use fx::prelude::*;

fn halve(x: f64) -> f64 {
    x / 2.0
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let scale = halve(x);
    x * scale
}

fn main() {}
