//! A pattern in the place of a name.

use fx::prelude::*;

#[traceable]
fn f((a, b): (Tensor, Tensor)) -> Tensor {
    a + b
}

fn main() {}
