//! The other function has another name.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub scale: f64,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.product(x, x)
    }

    pub fn product(&self, x: &Tensor, y: &Tensor) -> Tensor {
        x * y * self.scale
    }
}
