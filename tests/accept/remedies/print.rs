//! The debug form shows a node while tracing.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    println!("{x:?} {:?}", x.size(0));
    x.relu()
}
