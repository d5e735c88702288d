//! Functions marked `#[traceable]` that mention no tensor: they stay as they are.

use fx::prelude::*;

#[traceable]
pub const fn half(width: usize) -> usize {
    width / 2
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x * half(6) as f64
}
