//! A branch on a tensor, from the documentation of torch.fx.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    if x.sum() > 0.0 { x.relu() } else { -x }
}

fn main() {}
