//! Maps whose keys are plain Rust, however they are made.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor], names: Vec<String>) -> Tensor {
    let a: HashMap<String, Tensor> = [("a".into(), xs[0].clone())].into_iter().collect();
    let b: BTreeMap<usize, &Tensor> = xs.iter().enumerate().collect();
    let c = xs.iter().enumerate().collect::<HashMap<_, _>>();
    let d = HashMap::from([("x", xs[0].relu()), ("y", xs[1].clone())]);
    let e: HashMap<String, &Tensor> = names.iter().cloned().zip(xs).collect();
    let pairs = [("a".into(), xs[0].relu())];
    let g: HashMap<String, Tensor> = HashMap::from(pairs);
    let h: BTreeSet<usize> = xs.iter().enumerate().map(|(i, _)| i).collect();
    (&a["a"] + b[&0] + c[&0] + &d["x"] + e["b"] + &g["a"]) * h.len() as f64
}
