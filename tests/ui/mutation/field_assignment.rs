//! A parameter that is assigned in `forward`.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    weight: Parameter,
    calls: usize,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.calls += 1;
        self.weight = Parameter::new(Tensor::zeros([3]));
        x * &self.weight
    }
}

fn main() {}
