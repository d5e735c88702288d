//! A new tensor with the part replaced.

use fx::prelude::*;

#[traceable]
pub fn f(x: Tensor, y: &Tensor) -> Tensor {
    x.masked_fill(x.lt(0.0), 0.0) + y.where_(y.gt(0.0), &x)
}
