//! A field for a traced value.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    last: Option<fx::Proxy>,
    layer: fx::nn::Linear,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x)
    }
}

fn main() {}
