//! A reference to a tensor as result.

use fx::prelude::*;

#[traceable]
fn f<'a>(x: &'a Tensor) -> &'a Tensor {
    x
}

fn main() {}
