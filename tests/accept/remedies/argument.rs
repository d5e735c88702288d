//! A number becomes a tensor.

use fx::prelude::*;

#[traceable]
pub fn shift(x: &Tensor) -> Tensor {
    x + 1.0
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    shift(Tensor::full([1], 1.0)) + x
}
