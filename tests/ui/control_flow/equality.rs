//! Equality as a `bool`.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, y: &Tensor) -> Tensor {
    let same: bool = x == y;
    if same { x.relu() } else { x.clone() }
}

fn main() {}
