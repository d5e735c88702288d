//! An iterator that takes the tensor.

use fx::prelude::*;

#[traceable]
fn f(x: Tensor) -> Tensor {
    let rows: Vec<Tensor> = x.into_iter().collect();
    Tensor::stack(rows)
}

fn main() {}
