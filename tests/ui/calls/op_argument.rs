//! A float where an op takes an integer.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    x.softmax(1.0)
}

fn main() {}
