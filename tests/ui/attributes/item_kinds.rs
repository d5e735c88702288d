//! The attribute on a union, a trait, a module, a static and a constant.

use fx::prelude::*;

#[traceable]
union Bits {
    float: f32,
    int: u32,
}

#[traceable]
trait Layer {
    fn forward(&self, x: &Tensor) -> Tensor;
}

#[traceable]
mod layers {}

#[traceable]
static LAYERS: usize = 3;

#[traceable]
const WIDTH: usize = 3;

fn main() {}
