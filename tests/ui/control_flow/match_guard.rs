//! A guard of an arm.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, mode: i64) -> Tensor {
    match mode {
        0 if x.sum() > 0.0 => x.relu(),
        _ => x.clone(),
    }
}

fn main() {}
