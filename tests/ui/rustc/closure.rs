//! A branch in a closure that is captured: its parameters are proxies, and no attribute sees it.

use fx::prelude::*;

fn capture() -> fx::Result<fx::GraphModule> {
    fx::trace_fn!(|x| if x.sum() > 0.0 { x.relu() } else { x })
}

fn main() {}
