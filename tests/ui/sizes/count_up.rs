//! A counter compared with a size.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut y = x.clone();
    let mut i = 0;
    while i < x.size(0) {
        y = y.relu();
        i += 1;
    }
    y
}

fn main() {}
