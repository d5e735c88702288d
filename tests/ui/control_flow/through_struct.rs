//! A branch on a field of a structure of tensors.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Pair {
    left: Tensor,
    right: Tensor,
}

#[traceable]
fn f(pair: Pair<Tensor>) -> Tensor {
    if pair.left.sum() > 0.0 { pair.left } else { pair.right }
}

fn main() {}
