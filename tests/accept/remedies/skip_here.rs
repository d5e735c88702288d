//! `skip` leaves a function as it is.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
pub struct Model {
    pub scale: f64,
}

#[traceable]
impl Model {
    #[traceable(skip)]
    pub fn largest(x: &Tensor) -> f64 {
        x.max().item().to_f64()
    }

    pub fn forward(&self, x: &Tensor) -> Tensor {
        x * self.scale
    }
}
