//! A loop until a tensor is small.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut y = x.clone();
    while y.abs().sum() > 1.0 {
        y = y / 2.0;
    }
    y
}

fn main() {}
