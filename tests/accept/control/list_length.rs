//! The length of a list of tensors is static.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor]) -> Tensor {
    if xs.len() > 2 && !xs.is_empty() {
        return xs[0].clone() + &xs[xs.len() - 1];
    }
    match xs.len() {
        0 => Tensor::zeros([1]),
        1 => xs[0].relu(),
        n => Tensor::stack(xs) / n as f64,
    }
}
