//! Lists of traced values.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, flag: bool) -> Tensor {
    let list = vec![x.clone(), x > 0.0, if flag { x.relu() } else { x.tanh() }];
    let many = vec![x.clone(); 3];
    Tensor::stack(list) + Tensor::stack(many)
}
