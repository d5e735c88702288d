//! An associated function that is not traceable.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    #[traceable(skip)]
    fn helper(x: &Tensor) -> f64 {
        x.item().to_f64()
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x * Self::helper(x) * self.scale
    }
}

fn main() {}
