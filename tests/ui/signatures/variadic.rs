//! A variadic function.

use fx::prelude::*;

#[traceable]
unsafe extern "C" fn f(x: &Tensor, _: ...) -> Tensor {
    x.relu()
}

fn main() {}
