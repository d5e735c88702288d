//! Two functions of the name `forward`.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        x * self.scale
    }

    fn forward(&self, x: &Tensor, y: &Tensor) -> Tensor {
        x * y * self.scale
    }
}

fn main() {}
