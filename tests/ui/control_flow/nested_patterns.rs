//! Numbers within patterns.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor, flag: bool) -> Tensor {
    let y = match x.sizes() {
        [1, columns] => x.reshape((columns, 1)),
        [rows, columns] => x.reshape((columns, rows)),
    };
    let z = match (flag, x.sum() > 0.0) {
        (true, true) => y.relu(),
        _ => y.clone(),
    };
    match Some(x.size(0)) {
        Some(3) => z.relu(),
        _ => z,
    }
}

fn main() {}
