//! The tensor is a buffer.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub weight: Parameter,
    pub cache: Buffer,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.weight + &self.cache
    }
}
