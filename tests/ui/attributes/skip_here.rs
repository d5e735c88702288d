//! `skip` on a struct.

use fx::prelude::*;

#[traceable(skip)]
#[derive(Clone)]
struct Model {
    weight: Parameter,
}

fn main() {}
