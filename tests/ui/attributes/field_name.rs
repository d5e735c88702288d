//! A name with a dot.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    #[traceable(name = "self.weight")]
    weight: Parameter,
}

fn main() {}
