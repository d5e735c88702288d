//! The methods of a number on a size.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let heads = x.size(1).div_ceil(8);
    x / x.size(0).sqrt() + heads.pow(2)
}

fn main() {}
