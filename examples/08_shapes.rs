//! Shapes: by running, and without data, with sizes that are symbols.
//!
//! ```text
//! cargo run --release --example 08_shapes
//! ```

use fx::passes::{infer_shapes, propagate_shapes};
use fx::prelude::*;
use fx::value::Dim;
use fx::{Meta, nn};

fn main() -> fx::Result<()> {
    let model = nn::models::resnet18(1000);
    model.eval();
    let mut traced = fx::trace(&model)?;

    // By running: shapes, element types and strides of this one input.
    propagate_shapes(&mut traced, Tensor::zeros([2, 3, 64, 64]))?;
    let maxpool = traced.graph().find("maxpool").expect("ResNet has a maxpool");
    println!("after a run:   {:?}", traced.graph()[maxpool].meta().shape());

    // Without data: any batch, any image whose sides are multiples of 32.
    let images =
        Meta::tensor([Dim::symbol("N", 1), Dim::from(3), Dim::symbol("H", 32), Dim::symbol("W", 32)], DType::F32);
    infer_shapes(&mut traced, [images])?;
    println!("with symbols:  {:?}\n", traced.graph()[maxpool].meta().shape());
    for line in traced.readable().lines().filter(|line| line.contains("layer2.0") || line.contains("layer2_0")) {
        println!("{line}");
    }

    // A mistake is found before there is any data, and the message has the user's line.
    let error = infer_shapes(&mut traced, [Meta::tensor([1, 1, 64, 64], DType::F32)]).expect_err("1 is not 3");
    println!("\nAn image of one channel is refused:\n{error}");
    Ok(())
}
