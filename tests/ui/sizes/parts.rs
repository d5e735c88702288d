//! Symbolic sizes as the bounds of a part, a capacity, a number of copies.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, xs: &[Tensor]) -> Tensor {
    let some = &xs[..x.size(0)];
    let mut parts = Vec::with_capacity(x.size(0));
    parts.push(x.relu());
    let copies: Vec<Tensor> = std::iter::repeat(x.clone()).take(x.size(0)).collect();
    let more: Vec<Tensor> = std::iter::repeat_n(x.clone(), x.size(0)).collect();
    Tensor::stack(some.to_vec()) + Tensor::stack(parts) + Tensor::stack(copies) + Tensor::stack(more)
}

fn main() {}
