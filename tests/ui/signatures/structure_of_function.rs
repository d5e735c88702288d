//! A result of a function that is no value.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> (Tensor, String) {
    (x.relu(), String::from("relu"))
}

fn main() {}
