//! A tensor looked for in a list.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, xs: &[Tensor]) -> Tensor {
    if xs.contains(x) { x.relu() } else { x.clone() }
}

fn main() {}
