//! The argument is owned.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub scale: f64,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor, mode: String) -> Tensor {
        if mode == "double" { x * 2.0 } else { x * self.scale }
    }
}
