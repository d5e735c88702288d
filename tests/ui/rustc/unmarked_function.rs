//! A function without the attribute, captured by its name.

use fx::prelude::*;

fn helper(x: &Tensor) -> Tensor {
    x.relu()
}

fn capture() -> fx::Result<fx::GraphModule> {
    fx::trace_fn!(helper)
}

fn main() {}
