//! Capturing a number, and a module without `forward`.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

fn capture(model: &Model) -> fx::Result<()> {
    fx::trace(&42)?;
    fx::trace(model)?;
    Ok(())
}

fn main() {}
