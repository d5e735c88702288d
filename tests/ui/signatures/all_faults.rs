//! All faults of a signature at once.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    async unsafe fn forward(&mut self, (a, b): (Tensor, Tensor), c: &mut Tensor) -> Tensor {
        (a + b + &*c) * self.scale
    }
}

fn main() {}
