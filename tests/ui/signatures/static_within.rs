//! A static argument with a reference within.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor, mode: Option<&str>) -> Tensor {
        if mode.is_some() { x * self.scale } else { x.clone() }
    }
}

fn run(model: &Model, x: &Tensor) -> Tensor {
    model.forward(x, Some("scale")).relu()
}

fn main() {}
