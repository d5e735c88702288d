//! A result that is printed, by position and by name.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    println!("{} {:>8} {total}", x.sum(), x.mean(), total = x.max());
    x.relu()
}

fn main() {}
