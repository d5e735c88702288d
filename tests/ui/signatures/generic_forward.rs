//! A generic `forward`.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward<T: Into<f64>>(&self, x: &Tensor, scale: T) -> Tensor {
        x * scale.into() * self.scale
    }
}

fn main() {}
