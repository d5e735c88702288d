//! The result has the name of the input.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, y: &Tensor) -> Tensor {
    let x = x.add(y);
    x.relu()
}
