//! The function is marked, or it is a closure.

use fx::prelude::*;

#[traceable]
pub fn helper(x: &Tensor) -> Tensor {
    x.relu()
}

pub fn capture() -> fx::Result<[fx::GraphModule; 2]> {
    Ok([fx::trace_fn!(helper)?, fx::trace_fn!(|x| x.relu())?])
}
