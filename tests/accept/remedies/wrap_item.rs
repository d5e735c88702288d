//! A free function as one node.

use fx::prelude::*;

#[fx::wrap]
pub fn doubled(x: &Tensor) -> Tensor {
    x * 2.0
}
