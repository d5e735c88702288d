//! A type parameter of which nothing is said.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model<M = fx::nn::ReLU> {
    layer: M,
}

#[traceable]
impl<M: fx::Layer + Clone> Model<M> {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward_layer(x.clone())
    }
}

fn capture(model: &Model) -> fx::Result<fx::GraphModule> {
    fx::trace(model)
}

fn main() {}
