//! Methods that take tensors, plain Rust, or both.

use fx::nn;
use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub linear: nn::Linear,
    pub heads: usize,
}

#[traceable]
impl Model {
    fn split(&self, x: &Tensor) -> Tensor {
        x.reshape((x.size(0), self.heads as i64, -1))
    }

    fn scale(&self) -> f64 {
        if self.heads > 1 { 1.0 / self.heads as f64 } else { 1.0 }
    }

    fn mix(x: Tensor, y: &Tensor, weight: f64) -> Tensor {
        if weight > 0.5 { x + y } else { y * weight }
    }

    fn is_wide(&self, xs: &[Tensor]) -> bool {
        xs.len() > self.heads
    }

    pub fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.split(&self.linear.forward(x)) * self.scale();
        let y = Self::mix(y, x, self.scale());
        if self.is_wide(&[y.clone()]) { y.relu() } else { y }
    }
}
