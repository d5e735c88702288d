//! A condition beside a pattern.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, y: Option<&Tensor>) -> Tensor {
    if let Some(y) = y && y.sum() > 0.0 { x + y } else { x.clone() }
}

fn main() {}
