//! Closures that decide by data.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, xs: Vec<Tensor>, mask: Option<&Tensor>) -> Tensor {
    let mut some = xs.clone();
    some.retain(|x| x.sum() > 0.0);
    let first = xs.iter().position(|x| x.size(0) == 3).unwrap_or(0);
    if xs.iter().any(|x| x.max() > 1.0) || xs.iter().all(|x| !(x.min() > 1.0)) {
        return xs[first].relu();
    }
    if mask.is_some_and(|mask| mask.sum() > 0.0) || mask.map_or(false, |mask| mask.min() > 0.0) {
        return Tensor::stack(some);
    }
    let Some(y) = Some(x).filter(|x| {
        let sum = x.sum();
        sum > 0.0
    }) else {
        return x.clone();
    };
    y.relu()
}

fn main() {}
