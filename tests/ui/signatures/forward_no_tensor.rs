//! A `forward` without tensors.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, x: f64) -> f64 {
        x * self.scale
    }
}

fn main() {}
