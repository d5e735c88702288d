//! The match is on a field.

use fx::prelude::*;

#[derive(Clone)]
pub enum Mode {
    Relu,
    Tanh,
}

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub mode: Mode,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        match self.mode {
            Mode::Relu => x.relu(),
            Mode::Tanh => x.tanh(),
        }
    }
}
