//! A tensor spread into variables.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let [a, b] = x;
    a + b
}

fn main() {}
