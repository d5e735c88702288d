//! A value chosen by data, from the documentation of torch.fx: `y if x > 0 else -y`.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, y: Tensor) -> Tensor {
    let y = if x > 0.0 { y } else { -y };
    y + x
}

fn main() {}
