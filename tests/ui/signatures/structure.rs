//! A result that is no value.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> (Tensor, String) {
        (x * self.scale, String::from("scaled"))
    }
}

fn main() {}
