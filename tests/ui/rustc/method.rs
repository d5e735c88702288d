//! A method that neither tensors nor traced values have.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    x.relux()
}

fn main() {}
