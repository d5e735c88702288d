//! The order is an op.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, y: &Tensor) -> Tensor {
    x.maximum(y)
}
