//! A slice of tensors.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor]) -> Tensor {
    Tensor::cat(xs)
}
