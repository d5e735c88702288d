//! Comparisons as masks, on either side.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, y: &Tensor) -> Tensor {
    let positive = x > 0.0;
    let small = 1.0 > x;
    let equal = x == y;
    (positive & small | equal) * x + (x.size(0) > 3) * y
}
