//! A mask as the argument of a function that takes a `bool`.

use fx::prelude::*;

fn scale(flag: bool) -> f64 {
    if flag { 2.0 } else { 1.0 }
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    x * scale(x.sum() > 0.0)
}

fn main() {}
