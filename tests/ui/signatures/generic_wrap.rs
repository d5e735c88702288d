//! Faults of functions marked `#[wrap]`: type parameters, arguments and results that no graph holds.

use std::collections::HashMap;

use fx::prelude::*;

enum Mode {
    Double,
}

#[fx::wrap]
fn generic<T: Into<f64>>(x: &Tensor, scale: T) -> Tensor {
    x * scale.into()
}

#[fx::wrap]
fn named(x: &Tensor, name: &str) -> Tensor {
    x * name.len() as f64
}

#[fx::wrap]
fn chosen(x: &Tensor, mode: Mode) -> Tensor {
    match mode {
        Mode::Double => x * 2.0,
    }
}

#[fx::wrap]
fn looked_up(parts: &HashMap<String, Tensor>) -> Tensor {
    parts["x"].clone()
}

#[fx::wrap]
fn largest(x: &Tensor) -> f64 {
    x.max().item().to_f64()
}

#[traceable]
fn f(x: &Tensor) -> Tensor {
    generic(x, 1.0) + named(x, "two") + chosen(x, Mode::Double)
}

fn main() {}
