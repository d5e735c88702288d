//! Struct and `impl` block are marked.

use fx::prelude::*;

#[traceable]
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

pub fn capture(model: &Model) -> fx::Result<fx::GraphModule> {
    fx::trace(model)
}
