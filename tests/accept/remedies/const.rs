//! The function runs when the program does.

use fx::prelude::*;

const SCALE: f64 = 2.0;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x * SCALE
}
