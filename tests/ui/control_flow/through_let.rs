//! A branch on what was computed from a tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let total = x.sum();
    let large = total > 10.0;
    if large { x.relu() } else { x.clone() }
}

fn main() {}
