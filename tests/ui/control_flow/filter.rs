//! A filter by data.

use fx::prelude::*;

#[traceable]
fn f(xs: &[Tensor]) -> Tensor {
    let parts: Vec<Tensor> = xs.iter().filter(|x| if x.sum() > 0.0 { true } else { false }).cloned().collect();
    Tensor::cat(parts)
}

fn main() {}
