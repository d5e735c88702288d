//! The quickstart: one model, four ways to run it.
//!
//! A small residual network for handwritten digits, trained in PyTorch (`tools/torch_ref/digits.py`), is written once
//! below. It runs eagerly, is captured as a graph, printed, turned into Rust source, and run by its compiled plan, on
//! 359 images that the training has not seen.
//!
//! ```text
//! cargo run --release --example 01_digits
//! ```

use std::time::Instant;

use fx::prelude::*;
use fx::{nn, tensor};

/// Two convolutions and a way around them.
#[traceable]
#[derive(Clone)]
struct Block {
    conv1: nn::Conv2d,
    bn1: nn::BatchNorm2d,
    conv2: nn::Conv2d,
    bn2: nn::BatchNorm2d,
}

#[traceable]
impl Block {
    fn new(channels: usize) -> Self {
        let conv = || nn::Conv2d::new(channels, channels, 3).padding(1).bias(false);
        Self { conv1: conv(), bn1: nn::BatchNorm2d::new(channels), conv2: conv(), bn2: nn::BatchNorm2d::new(channels) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.bn1.forward(self.conv1.forward(x)).relu();
        (self.bn2.forward(self.conv2.forward(y)) + x).relu()
    }
}

/// Images `[N, 1, 8, 8]` to scores `[N, 10]`.
#[traceable]
#[derive(Clone)]
struct Digits {
    stem: nn::Conv2d,
    blocks: Vec<Block>,
    pool: nn::MaxPool2d,
    head: nn::Linear,
}

#[traceable]
impl Digits {
    fn new() -> Self {
        Self {
            stem: nn::Conv2d::new(1, 16, 3).padding(1),
            blocks: (0..2).map(|_| Block::new(16)).collect(),
            pool: nn::MaxPool2d::new(2),
            head: nn::Linear::new(16 * 4 * 4, 10),
        }
    }

    fn forward(&self, images: &Tensor) -> Tensor {
        let mut x = self.stem.forward(images).relu();
        for block in &self.blocks {
            x = block.forward(x);
        }
        self.head.forward(self.pool.forward(x).flatten_with(fx::ops::FlattenOptions::new().start_dim(1)))
    }
}

/// The share of the images whose highest score is the right digit's.
fn accuracy(scores: &Tensor, labels: &Tensor) -> f64 {
    let found = scores.argmax_with(fx::ops::ArgmaxOptions::new().dim(1));
    fx::functional::eq(found, labels).to(DType::F64).mean().item().to_f64()
}

fn main() -> fx::Result<()> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data");
    let model = Digits::new();
    model.load_safetensors(format!("{data}/digits.safetensors"))?;
    model.eval();
    let test = tensor::load_safetensors(format!("{data}/digits_test.safetensors"))?;
    let (images, labels) = (test["images"].to(DType::F32) / 16.0, &test["labels"]);

    let start = Instant::now();
    let eager = model.forward(&images);
    let eager_time = start.elapsed();

    let start = Instant::now();
    let traced = fx::trace(&model)?;
    let trace_time = start.elapsed();
    println!("{}\n", traced.graph());
    println!("{}", traced.code());

    traced.forward(&images)?;
    let start = Instant::now();
    let planned = traced.forward(&images)?;
    let plan_time = start.elapsed();

    let (of_eager, of_plan) = (accuracy(&eager, labels), accuracy(&planned, labels));
    println!("captured {} nodes in {trace_time:.1?}", traced.graph().len());
    println!("eager:  {:.2} % of {} images in {eager_time:.1?}", of_eager * 100.0, images.shape()[0]);
    println!("traced: {:.2} % of {} images in {plan_time:.1?}", of_plan * 100.0, images.shape()[0]);
    assert!(of_eager == of_plan && of_eager >= 0.97, "both ways must find at least 97 % of the digits");
    Ok(())
}
