//! All faults of a function at once, each with one error.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut y = x.clone();
    if x.sum() > 0.0 {
        y = y.relu();
    }
    for row in x {
        y += row;
    }
    let scale = x.max() as f32;
    let rows = x.len();
    y * f64::from(scale) / rows
}

fn main() {}
