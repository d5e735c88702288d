//! Syntax errors in bodies whose functions are used: the compiler's own errors, and no other.

use fx::prelude::*;

#[traceable]
fn g(x: &Tensor) -> Tensor {
    let y = x. ;
    y
}

#[traceable]
#[derive(Clone)]
struct Model {
    scale: f64,
}

#[traceable]
impl Model {
    const fn half(width: usize) -> usize {
        width / 2
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let = x * self.scale;
        g(x)
    }
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    g(x) + 1.0
}

fn main() {
    let _ = [0; Model::half(4)];
    let _ = fx::trace(&Model { scale: 1.0 });
    let _ = fx::trace_fn!(g);
}
