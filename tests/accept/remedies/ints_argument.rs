//! An integer or several.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x.sum_dim([0, 1])
}
