//! An integer, an array or a word.

use fx::ops::Conv2dOptions;
use fx::prelude::*;

#[traceable]
pub fn f(x: &Tensor, weight: &Tensor) -> Tensor {
    let pad = |options: Conv2dOptions| x.conv2d_with(weight, None::<&Tensor>, options);
    pad(Conv2dOptions::new().padding(1))
        + pad(Conv2dOptions::new().padding([1, 1]))
        + pad(Conv2dOptions::new().padding("same"))
}
