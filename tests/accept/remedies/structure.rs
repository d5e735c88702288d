//! A struct of tensors is a structure.

use fx::prelude::*;

#[traceable]
pub struct Both {
    pub left: Tensor,
    pub right: Tensor,
}

#[traceable]
pub fn f(x: &Tensor) -> Both<Tensor> {
    Both { left: x.relu(), right: x.tanh() }
}
