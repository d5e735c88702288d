//! A `forward` that takes the module.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(self, x: &Tensor) -> Tensor {
        x * self.scale
    }
}

fn main() {}
