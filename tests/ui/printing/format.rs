//! A tensor in a string.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let text = format!("{}", x);
    let size = x.size(0).to_string();
    x * (text.len() + size.len()) as f64
}

fn main() {}
