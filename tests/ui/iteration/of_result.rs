//! A loop over the result of an op.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut sum = Tensor::zeros([3]);
    for (i, row) in x.relu().iter().enumerate() {
        sum += row * i as f64;
    }
    sum
}

fn main() {}
