//! A tensor as key of a map.

use std::collections::HashMap;

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut seen = HashMap::new();
    seen.insert(x, 1);
    x.relu()
}

fn main() {}
