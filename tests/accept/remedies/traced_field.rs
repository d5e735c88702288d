//! The module holds a buffer.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub last: Buffer,
}

#[traceable]
impl Model {
    pub fn forward(&self, x: &Tensor) -> Tensor {
        x + &self.last
    }
}
