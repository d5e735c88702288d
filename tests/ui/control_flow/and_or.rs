//! Each side of `&&` and `||` that is traced, and no other.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, flag: bool) -> Tensor {
    if flag && x.sum() > 0.0 || x.mean() < 1.0 { x.relu() } else { x.clone() }
}

fn main() {}
