//! A parameter and a buffer that get a new value.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    weight: Parameter,
    mean: Buffer,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.weight.set(x.clone());
        self.mean.set(x.mean());
        x.relu().cumsum_(0);
        x.sin_();
        x * &self.weight + &self.mean
    }
}

fn main() {}
