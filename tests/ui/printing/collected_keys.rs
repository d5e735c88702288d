//! Tensors as keys of what is collected or made at once.

use std::collections::{BTreeSet, HashMap, HashSet};

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, y: &Tensor) -> Tensor {
    let counts = HashMap::from([(x.relu(), 1), (y + 1.0, 2)]);
    let set = BTreeSet::from([x.tanh()]);
    let pairs = vec![(x.clone(), 1.0)];
    let scales: HashMap<_, _> = pairs.into_iter().collect();
    let unique = [x, y].into_iter().collect::<HashSet<_>>();
    let mut named: HashMap<Tensor, f64> = HashMap::new();
    named.insert(x.clone(), 1.0);
    let typed = HashMap::<Tensor, f64>::from([(x.clone(), 1.0)]);
    x * counts.len() as f64 * set.len() as f64 * scales.len() as f64 * unique.len() as f64 * typed.len() as f64
}

fn main() {}
