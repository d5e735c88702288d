//! A field of a child that is assigned in `forward`.

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    norm: nn::LayerNorm,
    seen: Vec<usize>,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.seen[0] = 1;
        self.norm.forward(x)
    }
}

fn main() {}
