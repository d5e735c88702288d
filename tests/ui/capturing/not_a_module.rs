//! A number as a module.

use fx::prelude::*;

fn children(module: &dyn Module) -> usize {
    fx::module::entries(module).len()
}

fn count() -> usize {
    children(&42)
}

fn main() {}
