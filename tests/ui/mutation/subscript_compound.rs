//! A part of a tensor increased.

use fx::prelude::*;

#[traceable]
fn f(mut x: Tensor) -> Tensor {
    x[0] += 1.0;
    x
}

fn main() {}
