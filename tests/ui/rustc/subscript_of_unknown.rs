//! A subscript of what may be a list.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let y = x.relu();
    y[0]
}

fn main() {}
