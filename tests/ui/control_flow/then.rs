//! A mask that chooses as a `bool` does.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let y = (x.sum() > 0.0).then(|| x.relu()).unwrap_or(x.clone());
    (y.min() > 0.0).then_some(y).unwrap_or_default()
}

fn main() {}
