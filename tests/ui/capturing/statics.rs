//! Static arguments that are missing, of another type, of another number.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor, twice: bool, times: i64) -> Tensor {
        let y = if twice { x * 2.0 } else { x.clone() };
        y * &self.weight * times
    }
}

fn capture(model: &Model) -> fx::Result<()> {
    fx::trace(model)?;
    fx::trace_with(model, (true, "three"))?;
    fx::trace_with(model, (true,))?;
    fx::trace_with(model, (true, 3))?;
    Ok(())
}

fn main() {}
