//! The faults of a signature and of its body at once.

use fx::prelude::*;

#[traceable]
const fn f(x: &Tensor) -> Tensor {
    if x.sum() > 0.0 { x.relu() } else { x.clone() }
}

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    async fn forward(&self, x: &Tensor, mode: &str) -> Tensor {
        let rows = x.len();
        x * rows * mode.len() as f64 * self.scale
    }
}

#[traceable]
#[derive(Clone)]
struct Scale {
    scale: f64,
}

#[traceable]
impl Scale {
    fn forward(&self, x: f64) -> f64 {
        x * self.scale
    }
}

fn main() {
    let _ = f(&Tensor::zeros([3]));
    let _ = Scale { scale: 2.0 }.forward(1.0);
}
