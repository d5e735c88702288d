//! The path of the crate, from the root.

use fx::prelude::*;

#[traceable(crate = ::fx)]
pub fn f(x: &Tensor) -> Tensor {
    x.relu()
}
