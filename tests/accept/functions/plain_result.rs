//! Traceable helpers that give plain Rust.

use fx::prelude::*;

#[traceable]
fn count(xs: &[Tensor]) -> usize {
    let some = xs.iter().filter(|_| true).count();
    some + xs.len()
}

#[traceable]
fn is_long(xs: &[Tensor]) -> bool {
    count(xs) > 3
}

#[traceable]
pub fn f(xs: &[Tensor]) -> Tensor {
    let n = count(xs);
    if is_long(xs) && n > 1 { xs[0].relu() * n as f64 } else { xs[0].clone() }
}
