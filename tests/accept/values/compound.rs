//! Compound assignment to owned tensors.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let mut y = x.relu();
    y += x;
    y *= 2.0;
    let mut list = vec![y.clone()];
    list[0] -= 1.0;
    for y in &mut list {
        *y /= 3.0;
    }
    y + &list[0]
}
