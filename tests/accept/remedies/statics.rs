//! One value for each parameter that is no tensor.

use fx::prelude::*;

#[traceable]
pub fn scaled(x: &Tensor, twice: bool, times: i64) -> Tensor {
    if twice { x * 2.0 * times } else { x * times }
}

pub fn capture() -> fx::Result<fx::GraphModule> {
    fx::trace_fn!(scaled, (true, 3))
}
