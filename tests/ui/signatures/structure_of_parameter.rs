//! Parameters that are no values.

use std::collections::HashMap;

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    fn forward(&self, parts: &HashMap<String, Tensor>) -> Tensor {
        &parts["x"] * self.scale
    }
}

#[traceable]
fn f(parts: Vec<(Tensor, String)>) -> Tensor {
    parts[0].0.clone()
}

fn main() {}
