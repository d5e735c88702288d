//! A tensor as the argument of a method that takes a number.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let scale = 2.0_f64.max(x.sum());
    x * scale
}

fn main() {}
