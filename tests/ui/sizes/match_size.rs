//! A match on a size.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    match x.size(0) {
        1 => x.relu(),
        _ => x.clone(),
    }
}

fn main() {}
