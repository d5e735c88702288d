//! A helper that takes an enum by value.

use fx::prelude::*;

pub enum Mode {
    Relu,
    Scale(f64),
}

#[traceable]
fn act(x: &Tensor, mode: Mode) -> Tensor {
    match mode {
        Mode::Relu => x.relu(),
        Mode::Scale(scale) => x * scale,
    }
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    act(x, Mode::Relu)
}
