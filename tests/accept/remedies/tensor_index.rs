//! Integers, ranges, and tuples of them.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x.index((0, 1..3))
}
