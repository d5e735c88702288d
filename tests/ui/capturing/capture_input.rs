//! A string given to a captured model.

use fx::prelude::*;

fn run(captured: &fx::GraphModule) -> fx::Result<Tensor> {
    captured.forward("input")
}

fn main() {}
