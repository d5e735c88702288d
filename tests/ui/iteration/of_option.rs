//! A loop over the tensor in an option, which is not a loop over the option.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, h: Option<&Tensor>) -> Tensor {
    let mut sum = x.clone();
    for row in h.unwrap_or(x) {
        sum += row;
    }
    for (a, b) in h.iter().zip(x) {
        sum += *a * b;
    }
    sum
}

fn main() {}
