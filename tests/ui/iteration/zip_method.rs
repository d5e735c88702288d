//! The method `zip` with a traced tensor.

use fx::prelude::*;

#[traceable]
fn f(xs: &[Tensor], x: &Tensor) -> Tensor {
    let mut sum = x.clone();
    for (a, b) in xs.iter().zip(x) {
        sum += a * b;
    }
    sum
}

fn main() {}
