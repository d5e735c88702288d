//! A tensor, a number and a mask given to functions that stay as they are written.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    #[traceable(skip)]
    fn largest(x: &Tensor) -> f64 {
        x.max().item().to_f64()
    }

    fn halved(&self, x: f64, flag: bool) -> f64 {
        if flag { x / 2.0 } else { self.scale }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x * Self::largest(x) * self.halved(x, x > 0.0)
    }
}

fn main() {}
