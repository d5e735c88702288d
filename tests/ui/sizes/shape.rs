//! The shape, which only an eager tensor has.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let shape = x.shape();
    x.reshape((shape[0], -1))
}

fn main() {}
