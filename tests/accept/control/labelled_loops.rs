//! Labels, `break` with a value, `continue`.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, depth: usize) -> Tensor {
    let mut y = x.clone();
    'outer: for i in 0..depth {
        for j in 0..depth {
            if j > i {
                continue 'outer;
            }
            if i + j > 5 {
                break 'outer;
            }
            y = y + i as f64 * j as f64;
        }
    }
    let z = loop {
        break y.relu();
    };
    z
}
