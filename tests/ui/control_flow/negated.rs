//! The negation of a comparison.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    if !(x.sum() > 0.0) {
        return x.relu();
    }
    x.clone()
}

fn main() {}
