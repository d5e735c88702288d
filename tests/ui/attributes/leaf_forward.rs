//! A leaf without `forward`.

use fx::prelude::*;

#[traceable(leaf)]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight
    }
}

fn main() {}
