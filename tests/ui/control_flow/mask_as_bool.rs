//! A comparison stored as a `bool`.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let positive: bool = x.sum() > 0.0;
    if positive { x.relu() } else { x.clone() }
}

fn main() {}
