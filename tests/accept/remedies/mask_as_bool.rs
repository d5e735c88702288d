//! The mask stays a tensor.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let positive = x > 0.0;
    positive * x
}
