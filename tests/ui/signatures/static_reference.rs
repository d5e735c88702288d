//! A borrowed static argument.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor, mode: &str) -> Tensor {
        if mode == "double" { x * 2.0 } else { x * self.scale }
    }
}

fn main() {}
