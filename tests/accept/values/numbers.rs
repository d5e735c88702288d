//! Numbers made of plain Rust beside tensors.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor]) -> Tensor {
    let n = xs.len();
    let scale = 1.0 / (n as f64).sqrt();
    let weights: Vec<f64> = (0..n).map(|i| f64::from(i as u32) / n as f64).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| weights[*a].partial_cmp(&weights[*b]).unwrap_or(std::cmp::Ordering::Equal));
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let mut y = xs[order[0]].clone() * scale;
    for (x, weight) in xs.iter().zip(&weights) {
        if *weight > 0.5 && largest >= *weight {
            y = y + x * *weight;
        }
    }
    y
}
