//! The attribute on the `impl` block only.

use fx::prelude::*;

#[derive(Clone)]
struct Model {
    layer: fx::nn::Linear,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x)
    }
}

fn main() {}
