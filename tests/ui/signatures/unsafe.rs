//! An unsafe function.

use fx::prelude::*;

#[traceable]
unsafe fn f(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
