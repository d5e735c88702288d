//! Helpers that are generic in the tensor, or take closures.

use fx::prelude::*;

fn apply<T>(x: T, times: usize, f: impl Fn(T) -> T) -> T {
    (0..times).fold(x, |x, _| f(x))
}

fn first<T: Clone>(items: &[T]) -> T {
    items[0].clone()
}

fn same<T>(x: T) -> T {
    x
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let y = apply(x.clone(), 3, |y| y.relu());
    let z = first(&[y.clone(), x.clone()]);
    same(y) + z
}
