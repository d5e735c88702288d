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
    fn new() -> Self {
        Self { weight: Parameter::new(Tensor::zeros([3])), cache: Tensor::zeros([3]) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight + &self.cache
    }
}

fn main() {
    let _ = fx::trace(&Model::new());
}
