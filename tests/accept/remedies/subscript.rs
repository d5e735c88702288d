//! A part is taken by an op.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let first = x.select(0, 0);
    let corner = x.index((0, 1..3));
    first.sum() + corner.sum()
}
