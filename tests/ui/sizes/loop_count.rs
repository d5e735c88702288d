//! A loop over a dimension.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut y = x.clone();
    for i in 0..x.size(1) {
        y = y.select(1, i);
    }
    y
}

fn main() {}
