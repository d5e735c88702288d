//! What a model costs: operations, bytes, parameters, memory; how long it would take, and how long it takes.
//!
//! ```text
//! cargo run --release --example 09_cost
//! ```

use fx::passes::{Device, cost, infer_shapes, peak_memory, roofline, timeline};
use fx::prelude::*;
use fx::value::Dim;
use fx::{Meta, nn};

/// The first lines of a table.
fn head(table: &str) -> String {
    table.lines().take(8).map(|line| format!("  {line}\n")).collect()
}

fn main() -> fx::Result<()> {
    let model = nn::models::resnet50(1000);
    model.eval();
    let mut traced = fx::trace(&model)?;
    let image = || Meta::tensor([1, 3, 224, 224], DType::F32);

    let report = cost(&traced, [image()])?;
    println!("ResNet-50 on one image, by node (the first ones):\n\n{}", head(&report.to_string()));
    println!("By module:\n\n{}\n", report.module_table(1));

    let any = Meta::tensor([Dim::symbol("N", 1), Dim::from(3), Dim::from(224), Dim::from(224)], DType::F32);
    println!("A batch of N images costs {} operations.\n", cost(&traced, [any])?.total().flops);

    infer_shapes(&mut traced, [image()])?;
    println!("{}\n", peak_memory(&traced)?);

    let device = Device { name: "a laptop's core".into(), flops: 1e11, bandwidth: 2e10, overhead: 1e-6 };
    println!("{}", head(&roofline(&report, &device)?.to_string()));

    let measured = timeline(&traced, Tensor::rand([1, 3, 224, 224]), 3)?;
    println!("Measured here: {}", head(&measured.to_string()));
    let path = std::env::temp_dir().join("resnet50.trace.json");
    std::fs::write(&path, measured.chrome_trace())?;
    println!("{} opens in chrome://tracing and in Perfetto.", path.display());
    Ok(())
}
