//! Expansions where the crate has another name, nothing is in scope and warnings are errors. The package `tests/renamed`
//! compiles the same source in the edition 2021.

extern crate fx as flux;

// Each edition has a style of its own; the source is in that of its package.
#[rustfmt::skip]
#[allow(unreachable_pub, reason = "it is the root of a crate elsewhere")]
#[path = "renamed/src/lib.rs"]
mod renamed;

use fx::prelude::*;

#[test]
fn it_is_captured() {
    assert_eq!(renamed::capture().unwrap().graph().placeholders().len(), 2);
    assert_eq!(renamed::sum(&[Tensor::ones([3])], 2.0).shape(), [3]);
}
