//! A tensor itself as a condition.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    if x.any() { x.relu() } else { x.clone() }
}

fn main() {}
