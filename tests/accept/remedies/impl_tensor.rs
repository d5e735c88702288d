//! The parameter has the type of a tensor.

use fx::prelude::*;

#[traceable]
pub fn f(x: Tensor) -> Tensor {
    x.relu()
}
