//! A subscript of a variable that is a tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let y = 2.0 * x + 1.0;
    y[0]
}

fn main() {}
