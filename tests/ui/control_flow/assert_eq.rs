//! An assertion about a size.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    assert_eq!(x.size(0), 3);
    assert_ne!(x.size(1), 0, "empty rows");
    x.relu()
}

fn main() {}
