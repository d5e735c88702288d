//! A tensor that is printed.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    println!("{x}");
    x.relu()
}

fn main() {}
