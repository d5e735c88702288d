//! An argument that the attribute does not have.

use fx::prelude::*;

#[traceable(leaves)]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

fn main() {}
