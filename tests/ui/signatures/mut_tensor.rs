//! A tensor to be changed.

use fx::prelude::*;

#[traceable]
fn f(x: &mut Tensor) -> Tensor {
    x.relu()
}

fn main() {}
