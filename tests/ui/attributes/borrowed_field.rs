//! A module that borrows.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model<'a> {
    layer: &'a fx::nn::Linear,
}

#[traceable]
impl<'a> Model<'a> {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x)
    }
}

fn main() {}
