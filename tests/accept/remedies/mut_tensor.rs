//! The result is given back.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x.relu()
}
