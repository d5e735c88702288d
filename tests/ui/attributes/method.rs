//! The attribute on a method, not on its `impl` block.

use fx::prelude::*;

struct Model;

impl Model {
    #[traceable]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.relu()
    }
}

fn main() {}
