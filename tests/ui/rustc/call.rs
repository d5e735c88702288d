//! A function of tensors that is not traceable.

use fx::prelude::*;

fn helper<T>(x: &Tensor) -> T {
    panic!("{x}")
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    helper(x)
}

fn main() {}
