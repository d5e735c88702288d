//! Arrays of traced values.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, pair: [Tensor; 2]) -> Tensor {
    let [a, b] = pair;
    let parts: [Tensor; 3] = x.chunk(0);
    let [c, d, e] = parts.map(|part| part.relu());
    let mut all = [a, b, c, d, e];
    all[0] = all[1].clone() + &all[2];
    for part in &mut all {
        *part = part.relu();
    }
    all.into_iter().reduce(|a, b| a + b).unwrap_or_else(|| x.clone())
}
