//! A range of symbolic size under an adaptor, and a symbolic number of steps.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, xs: &[Tensor]) -> Tensor {
    let n = x.size(0);
    let rows: Vec<Tensor> = (0..n).map(|i| x.select(0, i)).collect();
    let some: Vec<Tensor> = xs.iter().take(x.size(1)).cloned().collect();
    Tensor::stack(rows) + Tensor::stack(some)
}

fn main() {}
