//! Helpers that a graph could not refer to: they are called only.

use fx::prelude::*;

#[traceable]
fn parts(x: &Tensor, scales: &[f64]) -> impl Iterator<Item = Tensor> {
    scales.iter().map(|scale| x * *scale).collect::<Vec<_>>().into_iter()
}

#[traceable]
fn named(x: &Tensor, name: Option<&str>) -> Tensor {
    if name.is_some() { x.relu() } else { x.clone() }
}

#[traceable]
#[fx::wrap]
fn both(x: &Tensor) -> Tensor {
    if x.sum().item().to_f64() > 0.0 { x.relu() } else { x.clone() }
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    parts(&both(x), &[1.0, 2.0]).fold(named(x, None), |sum, part| sum + part)
}
