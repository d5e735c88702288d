//! A `forward` that a trait declares, captured.

use fx::prelude::*;

trait Forward {
    fn forward(&self, x: &Tensor) -> Tensor;
}

#[traceable]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

#[traceable]
impl Forward for Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight
    }
}

fn capture(model: &Model, x: &Tensor) -> fx::Result<Tensor> {
    fx::trace(model)?;
    Ok(model.forward(x))
}

fn main() {}
