//! A match on a comparison.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    match x.sum() > 0.0 {
        true => x.relu(),
        false => x.clone(),
    }
}

fn main() {}
