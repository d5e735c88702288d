//! A match on an enum.

use fx::prelude::*;

#[derive(Clone, Debug, PartialEq)]
pub enum Activation {
    Relu,
    Leaky(f64),
}

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub activation: Activation,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        match self.activation {
            Activation::Relu => x.relu(),
            Activation::Leaky(slope) if slope > 0.5 => x.leaky_relu(),
            Activation::Leaky(slope) => x * slope,
        }
    }
}
