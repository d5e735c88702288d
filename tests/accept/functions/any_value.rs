//! A function written by hand for every value.

use fx::prelude::*;

fn activation<V: Value>(x: &V) -> V {
    x.relu()
}

#[traceable]
pub fn f(x: Tensor) -> Tensor {
    activation(&x) + activation(&x)
}
