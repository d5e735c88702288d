//! A static argument of unknown type.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor, scale: impl Into<f64>) -> Tensor {
        x * scale.into() * self.scale
    }
}

fn main() {}
