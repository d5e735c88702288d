//! A wrapped function with static arguments and several tensors.

use fx::prelude::*;

#[fx::wrap]
pub fn mixed(x: &Tensor, y: Tensor, weight: f64, flip: bool) -> Tensor {
    if flip && x.max().item().to_f64() > 0.0 { y * weight } else { x * weight }
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    mixed(x, x.relu(), 0.5, true)
}
