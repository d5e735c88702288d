//! A function that is one node, and one that is traced.

use fx::prelude::*;

#[fx::wrap]
pub fn normalised(x: &Tensor) -> Tensor {
    x / x.max().item().to_f64()
}

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub scale: f64,
}

#[traceable]
impl Model {
    pub fn halved(&self, x: &Tensor, flag: bool) -> Tensor {
        if flag { x / 2.0 } else { x * self.scale }
    }

    pub fn forward(&self, x: &Tensor) -> Tensor {
        normalised(x) * self.halved(x, true)
    }
}
