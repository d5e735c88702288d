//! The sizes are recorded.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let [n, c] = x.sizes();
    x.reshape((n, 1, c))
}
