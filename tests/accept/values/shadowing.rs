//! A name that means a tensor, then a number, then a tensor.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, xs: &[Tensor]) -> Tensor {
    let y = x.relu() + x;
    let x = y;
    let y = xs.len() + 1;
    let x = x * y as f64;
    let xs = 3.5;
    if xs > 2.0 && y > 1 {
        return x;
    }
    let x = x + xs;
    x
}
