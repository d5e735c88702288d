//! Ops in place in a chain.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let y = x.relu_();
    let z = y.clamp_(0.0, 1.0);
    z.zero_()
}

fn main() {}
