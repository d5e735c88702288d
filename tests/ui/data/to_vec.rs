//! The data of a tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let data = x.to_vec::<f32>();
    Tensor::from([data[0], data[1]])
}

fn main() {}
