//! A function without the attribute.

struct Helper;

fn capture() -> fx::Result<fx::GraphModule> {
    fx::trace_fn!(Helper)
}

fn main() {}
