//! A tensor of unknown type.

use fx::prelude::*;

#[traceable]
fn f(x: impl Into<Tensor>) -> Tensor {
    let x: Tensor = x.into();
    x.relu()
}

fn main() {}
