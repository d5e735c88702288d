//! A tensor spread into a tuple.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let (a, b) = x.clone();
    a + b
}

fn main() {}
