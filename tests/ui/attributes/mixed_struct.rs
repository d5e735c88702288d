//! Tensors and parameters in one struct.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    weight: Parameter,
    cache: Tensor,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight
    }
}

fn main() {}
