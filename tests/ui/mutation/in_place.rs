//! An op of PyTorch that works in place.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, y: &Tensor) -> Tensor {
    x.add_(y);
    x.relu()
}

fn main() {}
