//! Static arguments of a function.

use fx::prelude::*;

#[traceable]
fn masked(x: &Tensor, twice: bool) -> Tensor {
    if twice { x * 2.0 } else { x.clone() }
}

fn capture() -> fx::Result<()> {
    fx::trace_fn!(masked)?;
    fx::trace_fn!(masked, (1.0,))?;
    Ok(())
}

fn main() {}
