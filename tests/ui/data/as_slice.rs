//! The data of a tensor as a slice.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let total: f32 = x.as_slice::<f32>().iter().sum();
    x / total
}

fn main() {}
