//! The attribute on an enum, whose uses stay right.

use fx::prelude::*;

#[traceable]
enum Either {
    Left(fx::nn::Linear),
    Right(fx::nn::Linear),
}

#[traceable]
impl Either {
    fn forward(&self, x: &Tensor) -> Tensor {
        match self {
            Either::Left(layer) | Either::Right(layer) => layer.forward(x),
        }
    }
}

fn capture(either: &Either) -> fx::Result<fx::GraphModule> {
    fx::trace(either)
}

fn main() {}
