//! The async function calls the traceable one.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    x.relu()
}

pub async fn answer(x: Tensor) -> Tensor {
    f(&x)
}
