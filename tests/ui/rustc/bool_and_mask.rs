//! A `bool` and a mask, without a shortcut.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, flag: bool) -> Tensor {
    if flag & (x.sum() > 0.0) { x.relu() } else { x.clone() }
}

fn main() {}
