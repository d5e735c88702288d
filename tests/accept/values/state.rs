//! A state that is carried through a loop.

use fx::prelude::*;

#[traceable]
pub fn f(xs: &[Tensor]) -> (Tensor, Tensor) {
    let mut state = (Tensor::zeros([3]), Tensor::zeros([3]));
    for x in xs {
        let (h, c) = &state;
        let next = x + h * c;
        state = (next.tanh(), next);
    }
    state
}
