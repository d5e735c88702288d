//! What the op takes.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x.matmul(x.t()).softmax(1)
}
