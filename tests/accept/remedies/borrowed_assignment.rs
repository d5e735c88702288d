//! The tensor is taken by value.

use fx::prelude::*;

#[traceable]
pub fn f(mut x: Tensor) -> Tensor {
    x += 1.0;
    x.relu()
}
