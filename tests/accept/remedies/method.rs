//! The attribute is on the `impl` block of the type.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub scale: f64,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x * self.scale
    }
}
