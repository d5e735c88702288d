//! Static arguments of every kind.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, flag: bool, scale: f64, dims: Vec<i64>, name: Option<String>) -> Tensor {
    let mut y = if flag { x * scale } else { x.clone() };
    for dim in dims {
        y = y.unsqueeze(dim);
    }
    if let Some(name) = name
        && name.len() > 3
    {
        y = y.relu();
    }
    y
}
