//! Closures that take, give and capture traced values.

use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let double = |y: Tensor| y * 2.0;
    let add = |y: &Tensor| y + x;
    let twice = |f: &dyn Fn(Tensor) -> Tensor, y: Tensor| f(f(y));
    let mut count = 0;
    let mut counted = |y: Tensor| {
        count += 1;
        y.relu()
    };
    let y = counted(add(&double(x.clone())));
    let y = counted(y);
    twice(&double, y) * count as f64
}
