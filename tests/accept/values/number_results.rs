//! Numbers of plain Rust whose type follows from their place.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor], count: i64) -> Tensor {
    let n: usize = xs.iter().map(|_| 1usize).sum();
    let scales = xs.iter().map(|_| 2.0);
    let m: f64 = scales.sum();
    let j: usize = count.try_into().unwrap();
    let p: f64 = (j as u32).into();
    let c: i64 = "3".parse().unwrap();
    let mut parts = Vec::with_capacity(xs.len());
    parts.extend(std::iter::repeat_n(xs[n - 1].clone(), xs.len()));
    Tensor::stack(parts) * m * p * c * (n as f64).sqrt().abs()
}
