//! A number as the operand of a call that is written by hand.

use fx::prelude::*;

fn call() -> fx::Result<fx::Arg<Tensor>> {
    fx::value::Call::<Tensor>::function(fx::ops::relu).operand(2.0).apply()
}

fn main() {}
