//! Macros that the front end does not know.

use fx::prelude::*;

macro_rules! twice {
    ($x:expr) => {
        $x.clone() + $x
    };
}

#[traceable]
pub fn f(x: &Tensor) -> Tensor {
    let y = twice!(x);
    y
}
