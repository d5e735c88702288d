//! Items in a body are functions of their own.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    const SCALE: f64 = 2.0;
    fn larger(a: f64, b: f64) -> bool {
        a > b
    }
    #[traceable]
    fn shifted(x: &Tensor) -> Tensor {
        x + 1.0
    }
    fn count(xs: &[Tensor]) -> usize {
        xs.len()
    }
    struct Local {
        x: f64,
    }
    let local = Local { x: 1.0 };
    let many = count(&[]) > 1;
    if larger(SCALE, local.x) && many { shifted(x) * SCALE } else { x.clone() }
}
