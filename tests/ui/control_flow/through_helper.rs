//! A branch on what a helper gives back.

use fx::prelude::*;

#[traceable]
fn score(x: &Tensor) -> Tensor {
    x.mean().sigmoid()
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    if score(x) > 0.5 { x.relu() } else { x.clone() }
}

fn main() {}
