//! An iterator over a tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let rows: Vec<Tensor> = x.iter().map(|row| row.relu()).collect();
    Tensor::stack(rows)
}

fn main() {}
