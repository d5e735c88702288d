//! An argument that a field does not have.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    #[traceable(buffer)]
    weight: Parameter,
    #[traceable]
    bias: Parameter,
}

fn main() {}
