//! Iterators over lists of traced values.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor], ys: &[Tensor]) -> Tensor {
    let sum = xs.iter().zip(ys).map(|(x, y)| x * y).fold(Tensor::zeros([1]), |sum, x| sum + x);
    let relus: Vec<Tensor> = xs.iter().skip(1).step_by(2).rev().map(|x| x.relu()).collect();
    let numbered: Vec<Tensor> = xs.iter().enumerate().filter(|(i, _)| *i > 0).map(|(i, x)| x * i as f64).collect();
    let all: Vec<Tensor> = relus.into_iter().chain(numbered).collect();
    sum + Tensor::stack(all)
}
