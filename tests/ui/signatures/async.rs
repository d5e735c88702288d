//! An async function.

use fx::prelude::*;

#[traceable]
async fn f(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
