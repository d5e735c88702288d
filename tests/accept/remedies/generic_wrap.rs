//! The type is written.

use fx::prelude::*;

#[fx::wrap]
pub fn scaled(x: &Tensor, scale: f64) -> Tensor {
    x * scale
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    scaled(x, 2.0)
}
