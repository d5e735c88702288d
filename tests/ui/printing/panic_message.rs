//! A tensor in the message of an assertion.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, flag: bool) -> Tensor {
    assert!(flag, "the flag is not set for {}", x.sum());
    x.relu()
}

fn main() {}
