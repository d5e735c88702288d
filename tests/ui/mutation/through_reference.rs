//! An assignment through a reference.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    *x = x.relu();
    x.clone()
}

fn main() {}
