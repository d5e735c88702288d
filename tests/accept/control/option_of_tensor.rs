//! A tensor that may be absent.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, mask: Option<&Tensor>, bias: Option<Option<Tensor>>) -> Tensor {
    let mut y = x.clone();
    if let Some(mask) = mask {
        y = y * mask;
    }
    if mask.is_some() && x.clone().relu().size(0).as_arg().as_items().is_none() {
        y = y.relu();
    }
    let Some(bias) = bias else { return y };
    match mask {
        Some(mask) if bias.is_some_and(|_| true) => y + mask,
        _ => y,
    }
}
