//! A syntax error in the body: the compiler's own error, and no other.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let y = x.relu(;
    y
}

fn main() {}
