//! The choice of a layer by data.

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    layers: Vec<nn::Linear>,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor, route: &Tensor) -> Tensor {
        self.layers[route].forward(x)
    }
}

fn main() {}
