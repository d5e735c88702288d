//! A `forward` that changes the module.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&mut self, x: &Tensor) -> Tensor {
        self.scale += 1.0;
        x * self.scale
    }
}

fn main() {}
