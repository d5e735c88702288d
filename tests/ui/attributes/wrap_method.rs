//! `#[wrap]` on a method.

use fx::prelude::*;

struct Model;

impl Model {
    #[fx::wrap]
    fn helper(&self, x: &Tensor) -> Tensor {
        x.relu()
    }
}

#[traceable]
impl Model {
    #[fx::wrap]
    fn other(x: &Tensor) -> Tensor {
        x.relu()
    }
}

fn main() {}
