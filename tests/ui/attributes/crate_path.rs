//! A path that is not from the root.

use fx::prelude::*;

#[traceable(crate = fx)]
fn f(x: &Tensor) -> Tensor {
    x.relu()
}

#[traceable(crate = "::fx")]
fn g(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
