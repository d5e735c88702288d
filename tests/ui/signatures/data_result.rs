//! Results of `forward` that are plain Rust, or not named.

use fx::prelude::*;

#[traceable]
#[derive(Clone)]
struct Positive {
    scale: f64,
}

#[traceable]
impl Positive {
    fn forward(&self, x: &Tensor) -> bool {
        x.sum() > self.scale
    }
}

#[traceable]
#[derive(Clone)]
struct Scaled {
    scale: f64,
}

#[traceable]
impl Scaled {
    fn forward(&self, x: &Tensor) -> impl Into<Tensor> {
        x * self.scale
    }
}

fn run(positive: &Positive, scaled: &Scaled, x: &Tensor) -> fx::Result<Tensor> {
    fx::trace(positive)?;
    fx::trace(scaled)?;
    Ok(if positive.forward(x) { scaled.forward(x).into() } else { x.clone() })
}

fn main() {}
