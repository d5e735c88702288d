//! An owned tensor.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x.clone()
}
