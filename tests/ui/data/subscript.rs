//! A subscript of a tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let first = x[0];
    let corner = &x[(0, 0)];
    first + corner
}

fn main() {}
