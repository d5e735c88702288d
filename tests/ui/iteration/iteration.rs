//! A loop over the rows of a tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut sum = Tensor::zeros([3]);
    for row in x {
        sum += row;
    }
    sum
}

fn main() {}
