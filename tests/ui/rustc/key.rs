//! A map whose key is a tensor by what was collected before.

use std::collections::BTreeMap;

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let mut pairs = Vec::new();
    pairs.push((x.relu(), 1.0));
    let counts: BTreeMap<_, _> = pairs.into_iter().collect();
    x * counts.values().sum::<f64>()
}

fn main() {}
