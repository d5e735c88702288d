//! Constructors with `?`, and other functions without tensors.

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub linear: nn::Linear,
    pub width: usize,
}

#[traceable]
impl Model {
    pub fn new(width: &str) -> Result<Self, std::num::ParseIntError> {
        let width: usize = width.parse()?;
        Ok(Self { linear: nn::Linear::new(width, width), width })
    }

    pub fn area(&self) -> usize {
        if self.width > 3 { self.width * self.width } else { 0 }
    }

    pub fn widen(&mut self, by: usize) {
        self.width += by;
    }

    pub fn forward(&self, x: &Tensor) -> Tensor {
        if self.area() > 9 { self.linear.forward(x) } else { x.clone() }
    }
}
