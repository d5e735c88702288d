//! A const function.

use fx::prelude::*;

#[traceable]
const fn f(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
