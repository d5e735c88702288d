//! Functions of plain Rust beside tensors.

use fx::prelude::*;

fn is_even(n: i64) -> bool {
    n % 2 == 0
}

fn permutation(rank: i64) -> Vec<i64> {
    (0..rank).rev().collect()
}

fn scale(rank: i64, count: usize) -> f64 {
    rank as f64 / count.max(1) as f64
}

#[traceable]
pub fn f(x: &Tensor, xs: &[Tensor], rank: i64) -> Tensor {
    let dims = permutation(rank);
    let y = if is_even(rank) { x.permute(dims) } else { x.clone() };
    y * scale(rank, xs.len())
}
