//! Printing what is static, and debug forms of what is traced.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, xs: &[Tensor], rank: i64) -> Tensor {
    let n = xs.len();
    println!("{n} tensors, {:>4} dims, {name:?}, {{}}", rank, name = "x");
    eprintln!("{:?} {x:?} {n}", x.size(0));
    let label = format!("{}-{}", rank, xs.len());
    if label.len() > 3 { x.relu() } else { x.clone() }
}
