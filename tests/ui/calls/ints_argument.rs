//! A string as a list of dimensions.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    x.sum_dim("rows")
}

fn main() {}
