//! A list of pairs that hold more than tensors.

use fx::prelude::*;

#[traceable]
fn f(xs: &[(i64, Tensor)]) -> Tensor {
    xs[0].1.relu()
}

fn main() {}
