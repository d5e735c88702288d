//! The function with an ABI calls the traceable one.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x.relu()
}

pub extern "C" fn answer(x: f64) -> f64 {
    f(Tensor::from([x])).item().to_f64()
}
