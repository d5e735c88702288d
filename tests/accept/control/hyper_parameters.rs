//! Branches and loops on hyper-parameters.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub depth: usize,
    pub scale: f64,
    pub name: String,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        let mut y = x.clone();
        let mut i = 0;
        while i < self.depth && self.scale > 0.0 {
            y = if i % 2 == 0 || self.name == "relu" { y.relu() } else { y.tanh() };
            i += 1;
        }
        if !(self.scale > 1.0) { y } else { y * self.scale }
    }
}
