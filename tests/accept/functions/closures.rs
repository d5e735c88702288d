//! Helpers that take closures, iterators and lists to be filled.

use fx::prelude::*;

#[traceable]
fn collect(x: &Tensor, parts: &mut Vec<Tensor>) -> Tensor {
    parts.push(x.relu());
    parts.push(x.tanh());
    x.clone()
}

#[traceable]
fn apply(x: &Tensor, f: impl Fn(Tensor) -> Tensor, g: &dyn Fn(Tensor) -> Tensor) -> Tensor {
    g(f(x.clone()))
}

#[traceable]
fn sum(parts: impl Iterator<Item = Tensor>) -> Tensor {
    let mut sum = Tensor::zeros([1]);
    for part in parts {
        sum = sum + part;
    }
    sum
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let mut parts = Vec::new();
    collect(x, &mut parts);
    let y = apply(x, |y| y.relu(), &|y| y.tanh());
    sum(parts.into_iter()) + y
}
