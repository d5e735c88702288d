//! A module whose fields have no names.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model(fx::nn::Linear, usize);

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.0.forward(x)
    }
}

fn main() {}
