//! A function with an ABI.

use fx::prelude::*;

#[traceable]
extern "C" fn f(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
