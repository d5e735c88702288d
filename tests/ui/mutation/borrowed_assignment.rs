//! A compound assignment to what was passed by reference.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    x += 1.0;
    x.relu()
}

fn main() {}
