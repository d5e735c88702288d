//! A helper that gives an element as a number.

use fx::prelude::*;

#[traceable]
fn largest(x: &Tensor) -> f64 {
    x.max()
}

fn main() {}
