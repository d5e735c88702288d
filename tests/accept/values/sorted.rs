//! Lists in an order that the data has no part in.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor], weights: Vec<f64>) -> Tensor {
    let mut ordered: Vec<(usize, Tensor)> = xs.iter().cloned().enumerate().collect();
    ordered.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
    let mut places: Vec<usize> = ordered.iter().map(|pair| pair.0).collect();
    places.sort();
    places.dedup();
    let last = xs.iter().enumerate().map(|(i, _)| i).max().unwrap_or(0);
    let least = xs.iter().enumerate().min_by_key(|(i, _)| weights[*i] as i64).unwrap().0;
    let many = std::cmp::max(xs.len(), places.len());
    if places.contains(&3) { &xs[last] * many as f64 } else { xs[least].clone() }
}
