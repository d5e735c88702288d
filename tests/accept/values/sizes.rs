//! Arithmetic of sizes, and sizes where ops take them.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let [n, c, h, w] = x.sizes();
    let half = (&h * &w + 1) / 2;
    let rows = x.reshape((n, c, -1)).narrow(2, 0, half);
    rows / (h - 1) + w
}
