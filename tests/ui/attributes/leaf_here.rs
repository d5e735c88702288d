//! `leaf` on a function.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

#[traceable]
impl Model {
    #[traceable(leaf)]
    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight
    }
}

fn main() {}
