//! Parts of lists by static bounds, and patterns of lists.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor], n: usize) -> Tensor {
    let some = &xs[1..n];
    let most = &xs[..xs.len() - 1];
    match &xs[some.len()..=most.len()] {
        [] => Tensor::zeros([1]),
        [x] => x.clone(),
        [x, y, ..] => x + y,
    }
}
