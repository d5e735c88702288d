//! A helper that gives a comparison as a `bool`.

use fx::prelude::*;

#[traceable]
fn is_positive(x: &Tensor) -> bool {
    x.sum() > 0.0
}

fn main() {}
