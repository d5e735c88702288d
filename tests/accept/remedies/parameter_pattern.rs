//! The parameter has a name.

use fx::prelude::*;

#[traceable]
pub fn f(pair: (Tensor, Tensor)) -> Tensor {
    let (a, b) = pair;
    a + b
}
