//! A loop while a size is large.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut y = x.clone();
    while y.size(0) > 1 {
        y = y.narrow(0, 0, 1);
    }
    y
}

fn main() {}
