//! An assignment to a part of a tensor, from the documentation of torch.fx.

use fx::prelude::*;

#[traceable]
fn f(mut x: Tensor, y: &Tensor) -> Tensor {
    x[0] = y.clone();
    x.relu()
}

fn main() {}
