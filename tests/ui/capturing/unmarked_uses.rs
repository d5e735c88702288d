//! Captures of structs without the attribute, without a marked `impl` block, and of one that borrows: an error each.

use fx::nn::Linear;
use fx::prelude::*;

struct Plain {
    layer: Linear,
}

impl Plain {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x)
    }
}

#[derive(Clone)]
struct Unmarked {
    layer: Linear,
}

#[traceable]
impl Unmarked {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x)
    }
}

#[traceable]
#[derive(Clone)]
struct Borrowing<'a> {
    layer: &'a Linear,
}

#[traceable]
impl<'a> Borrowing<'a> {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.layer.forward(x)
    }
}

fn capture(plain: &Plain, unmarked: &Unmarked, borrowing: &Borrowing, x: &Tensor) -> fx::Result<Tensor> {
    let captured = fx::trace(plain)?;
    println!("{}", captured.graph());
    let captured = fx::trace_with(&42, (true,))?;
    println!("{}", captured.graph());
    let captured = fx::trace(unmarked)?;
    println!("{}", captured.graph());
    let captured = fx::trace_with(borrowing, (true,))?;
    println!("{}", captured.graph());
    Ok(plain.forward(x) + unmarked.forward(x) + borrowing.forward(x))
}

fn main() {}
