//! A leaf with its `forward`.

use fx::prelude::*;

#[traceable(leaf)]
#[derive(Clone)]
pub struct Model {
    pub weight: Parameter,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight
    }
}
