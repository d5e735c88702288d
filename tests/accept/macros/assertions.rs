//! Assertions about static things.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor], rank: i64) -> Tensor {
    assert!(rank > 0, "the rank is {rank}");
    assert!(!xs.is_empty() && xs.len() < 10);
    debug_assert_eq!(xs.len(), 2, "{} tensors", xs.len());
    assert_ne!(rank, 3);
    assert!(matches!(rank, 1 | 2));
    Tensor::stack(xs)
}
