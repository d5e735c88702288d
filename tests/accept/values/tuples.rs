//! Tuples and structures.

use fx::prelude::*;

#[traceable]
pub struct Both {
    pub left: Tensor,
    pub right: Tensor,
}

#[traceable]
pub fn f(pair: (Tensor, Tensor)) -> (Tensor, Vec<Tensor>) {
    let (x, (y, z)) = (pair.0, (pair.1.relu(), pair.1));
    let both = Both { left: x, right: y };
    let Both { left, right } = both;
    (left + right, vec![z])
}
