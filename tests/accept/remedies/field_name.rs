//! The field is `self` in paths and state dicts.

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    #[traceable(name = "self")]
    pub attention: nn::Linear,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        self.attention.forward(x)
    }
}
