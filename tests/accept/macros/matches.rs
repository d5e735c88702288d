//! `matches!` on static things.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor], mask: Option<&Tensor>, mode: String) -> Tensor {
    let known = matches!(mode.as_str(), "relu" | "tanh");
    let short = matches!(xs.len(), 0..=2);
    let absent = matches!(mask, None);
    let present = matches!(mask, Some(_) if known && short);
    if known && short && !absent || present { xs[0].relu() } else { xs[0].clone() }
}
