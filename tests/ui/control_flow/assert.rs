//! An assertion about the data.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    assert!(x.sum() > 0.0, "the input is not positive");
    debug_assert!(x.min() >= -1.0);
    x.relu()
}

fn main() {}
