//! The argument has a plain type.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub offset: f64,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor, scale: f64) -> Tensor {
        x * scale + self.offset
    }
}
