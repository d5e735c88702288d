//! Whether a tensor is empty.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    if x.is_empty() {
        return Tensor::zeros([1]);
    }
    x.relu()
}

fn main() {}
