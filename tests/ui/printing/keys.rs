//! Tensors as keys, however the map is made.

use std::collections::{BTreeSet, HashMap};

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let y = x.relu();
    let mut seen = HashMap::new();
    seen.insert(y.clone(), 1);
    let mut set = BTreeSet::new();
    set.insert(&y);
    let mut named: HashMap<String, Tensor> = HashMap::new();
    named.insert("y".into(), y.clone());
    let counts = HashMap::from([(y, 1)]);
    let collected = [(x.clone(), 1)].into_iter().collect::<HashMap<Tensor, i64>>();
    if named.contains_key(x) || counts.len() > collected.len() { x.relu() } else { x.clone() }
}

fn main() {}
