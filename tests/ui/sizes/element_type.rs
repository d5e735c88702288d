//! The element type of a traced tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    if x.dtype() == DType::F16 { x.to(DType::F32) } else { x.clone() }
}

fn main() {}
