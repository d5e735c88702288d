//! What can be seen as a tensor.

use fx::prelude::*;

#[traceable]
fn f(x: &dyn AsRef<Tensor>, y: &impl AsRef<Tensor>) -> Tensor {
    x.as_ref() + y.as_ref()
}

fn main() {}
