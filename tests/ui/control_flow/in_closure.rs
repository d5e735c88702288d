//! A branch in a closure that gets traced values.

use fx::prelude::*;

#[traceable]
fn f(xs: &[Tensor]) -> Tensor {
    let parts: Vec<Tensor> = xs.iter().map(|x| if x.sum() > 0.0 { x.relu() } else { x.clone() }).collect();
    Tensor::cat(parts)
}

fn main() {}
