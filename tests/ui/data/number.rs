//! A number made of a tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let scale = f64::from(x.max());
    x * scale
}

fn main() {}
