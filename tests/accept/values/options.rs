//! Options of traced values.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, mask: Option<&Tensor>, flag: bool) -> Tensor {
    let y = mask.map(|mask| x * mask).unwrap_or_else(|| x.clone());
    let z = mask.as_ref().is_some().then(|| x.relu());
    let w = mask.filter(|_| flag).cloned();
    [Some(y), z, w].into_iter().flatten().fold(x.clone(), |a, b| a + b)
}
