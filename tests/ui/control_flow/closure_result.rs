//! A closure that says it gives a `bool`, a size within a range, and a parameter read as a tensor.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        let positive = |x: &Tensor| -> bool { x.sum() > 0.0 };
        let weight = self.weight.value::<Tensor>();
        if weight.sum() > 0.0 {
            return x.relu();
        }
        if (0..3).contains(&x.size(0)) || positive(x) { x.relu() } else { x * &self.weight }
    }
}

fn main() {}
