//! Products with what follows them, in one call. Models are not written with these: passes make them, for a kernel
//! that adds and activates while a result is still in registers.

mod attr;
mod eval;
mod infer;

use super::Tolerance;
use super::cost;
use super::kind::{self, Encode, Padding};
use super::table::{ops, out};
use crate::value::Call;

pub use attr::Attr;

ops! {
    /// Products with what follows them.
    pub trait Fusion;

    /// `attr(conv2d(input, weight, bias) + other)`; [`Attr`](crate::ops::Attr) is the text of an elementwise function.
    method conv2d_pointwise [conv2d_pointwise_with: Conv2dPointwiseOptions]
        (input: one, weight: one, bias: opt, other: opt;;
        stride: pair = [1; 2], padding: margin2 = Padding::Explicit([0; 2]), dilation: pair = [1; 2],
        groups: int = 1, attr: string = "none".into()) -> one
        = eval::conv2d, infer::conv2d, cost::conv, tolerance Tolerance::SUMMATION;
    /// `attr(linear(input, weight, bias) + other)`; [`Attr`](crate::ops::Attr) is the text of an elementwise function.
    method linear_pointwise [linear_pointwise_with: LinearPointwiseOptions]
        (input: one, weight: one, bias: opt, other: opt;; attr: string = "none".into()) -> one
        = eval::linear, infer::linear, cost::matmul, tolerance Tolerance::SUMMATION;
}
