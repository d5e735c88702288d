//! A module of two tensors in a sequence of layers.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Sum {
    scale: f64,
}

#[traceable]
impl Sum {
    fn forward(&self, x: &Tensor, y: &Tensor) -> Tensor {
        x + y * self.scale
    }
}

fn run(_: &impl fx::Layer) {}

fn sum(sum: Sum) {
    run(&sum);
}

fn main() {}
