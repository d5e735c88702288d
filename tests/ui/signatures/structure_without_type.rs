//! A struct of tensors without the tensor type, which is then the struct of computed tensors.

use fx::prelude::*;

#[traceable]
struct State {
    h: Tensor,
    c: Tensor,
}

#[traceable]
fn step(x: &Tensor, state: State) -> (Tensor, State) {
    (x.relu(), state)
}

fn main() {}
