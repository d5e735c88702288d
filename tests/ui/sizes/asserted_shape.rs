//! An assertion on what is not known.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    assert_eq!(x.shape(), [2, 3]);
    debug_assert_eq!(x.ndim(), 2, "of {x:?}");
    x.relu()
}

fn main() {}
