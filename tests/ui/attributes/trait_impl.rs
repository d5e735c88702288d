//! The attribute on the implementation of a trait.

use fx::prelude::*;

trait Activation {
    fn apply(&self, x: &Tensor) -> Tensor;
}

struct Double;

#[traceable]
impl Activation for Double {
    fn apply(&self, x: &Tensor) -> Tensor {
        x * 2.0
    }
}

fn main() {}
