//! Items in a body are functions of their own.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    const SCALE: f64 = 2.0;
    fn larger(a: f64, b: f64) -> bool {
        a > b
    }
    struct Local {
        x: f64,
    }
    let local = Local { x: 1.0 };
    if larger(SCALE, local.x) { x * SCALE } else { x.clone() }
}
