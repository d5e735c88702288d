//! The attribute on an enum.

use fx::prelude::*;

#[traceable]
enum Either {
    Left(fx::nn::Linear),
    Right(fx::nn::Linear),
}

fn main() {}
