//! References to a tensor within what is given back.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Option<&Tensor> {
    Some(x)
}

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward<'a>(&self, x: &'a Tensor) -> (&'a Tensor, Tensor) {
        (x, x * self.scale)
    }
}

fn run(model: &Model, x: &Tensor) -> Tensor {
    let (y, z) = model.forward(x);
    y + z + f(x).unwrap()
}

fn main() {}
