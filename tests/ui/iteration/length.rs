//! The length of a tensor, from the documentation of torch.fx.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let rows = x.len();
    x / rows
}

fn main() {}
