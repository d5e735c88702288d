//! A branch on a size, from the documentation of torch.fx.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    if x.size(0) == 3 { x.relu() } else { x.clone() }
}

fn main() {}
