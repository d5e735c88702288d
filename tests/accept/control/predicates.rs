//! Closures that decide by plain Rust.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor], flags: Vec<bool>, mask: Option<&Tensor>) -> Tensor {
    let chosen: Vec<Tensor> = xs.iter().zip(&flags).filter(|(_, flag)| **flag).map(|(x, _)| x.clone()).collect();
    let even: Vec<_> = xs.iter().enumerate().filter(|(i, _)| i % 2 == 0 && *i > 0).map(|(_, x)| x.relu()).collect();
    let mut first = true;
    let mut rest = xs.to_vec();
    rest.retain(|_| !std::mem::replace(&mut first, false));
    let y = (rest.len() > 3).then(|| xs[0].relu());
    if xs.iter().any(|_| flags[0]) && flags.iter().all(|flag| !flag) && mask.is_none_or(|_| flags.len() > 2) {
        return Tensor::stack(chosen);
    }
    match (mask.filter(|_| flags[0]), flags.len(), flags[1]) {
        (Some(mask), 1, true) => xs[0].clone() + mask,
        (None, 0..=3, _) => y.unwrap_or_else(|| xs[0].clone()),
        _ => Tensor::stack(even),
    }
}
