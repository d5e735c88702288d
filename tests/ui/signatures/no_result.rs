//! A `forward` without result.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) {
        let _ = x * self.scale;
    }
}

fn main() {}
