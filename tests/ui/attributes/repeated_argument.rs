//! An argument that is given twice.

use fx::prelude::*;

#[traceable(leaf, leaf)]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight
    }
}

fn main() {}
