//! What a traced value does not become.

use fx::prelude::*;

#[traceable]
fn f(x: &Tensor) -> Tensor {
    let rows: usize = x.size(0).try_into().unwrap();
    let columns: i64 = x.size(1).into();
    let sum: f64 = x.sum().into();
    let positive: bool = (x.sum() > 0.0).into();
    let any = bool::from(x.sum());
    let text = String::from(x);
    let data = Vec::<f32>::from(x);
    let list: Vec<Tensor> = Vec::from_iter(x);
    if positive && any { Tensor::stack(list) } else { x * rows as f64 * columns * sum * (text.len() + data.len()) as f64 }
}

fn main() {}
