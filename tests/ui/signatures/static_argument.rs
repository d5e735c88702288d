//! A static argument that no graph can hold.

use fx::prelude::*;

#[derive(Clone)]
enum Mode {
    Double,
    Scale,
}

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor, mode: Mode) -> Tensor {
        match mode {
            Mode::Double => x * 2.0,
            Mode::Scale => x * self.scale,
        }
    }
}

fn main() {}
