//! A field that cannot be cloned.

use fx::prelude::*;

struct Settings {
    scale: f64,
}

#[traceable]
struct Model {
    settings: Settings,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        x * self.settings.scale
    }
}

fn main() {}
