//! `zip` over proxies, from the documentation of torch.fx.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, y: &Tensor) -> Tensor {
    let mut sum = Tensor::zeros([3]);
    for (a, b) in std::iter::zip(x, y) {
        sum += a * b;
    }
    sum
}

fn main() {}
