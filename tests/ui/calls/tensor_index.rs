//! A string as index.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    x.index("first")
}

fn main() {}
