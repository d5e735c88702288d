//! A model in parts: by choice, and by what a backend can run; then in one piece again.
//!
//! ```text
//! cargo run --release --example 10_split
//! ```

use fx::passes::{CapabilityBasedPartitioner, SplitSettings, inline_submodules, split_by_support, split_module};
use fx::prelude::*;
use fx::{GraphModule, NodeId, nn};

fn main() -> fx::Result<()> {
    let model = nn::models::resnet18(10);
    model.eval();
    let traced = fx::trace(&model)?;
    let x = Tensor::rand([1, 3, 64, 64]);
    let expected = traced.forward(&x)?;

    // Two halves, as for a pipeline over two machines: the callback names the part of each node.
    let mut second = false;
    let halves = split_module(&traced, |graph, id| {
        second |= graph[id].name().starts_with("layer3");
        usize::from(second)
    })?;
    println!("Two halves:\n{}\n", halves.graph());
    assert_eq!(halves.forward(&x)?, expected);

    // A part is a captured model: it runs, prints and can be edited by itself.
    let first = halves.state().modules["submod_0"].as_graph_module().expect("a part is a captured model");
    println!("The first half has {} nodes and gives {:?}.\n", first.graph().len(), first.forward(&x)?.shape());

    // What an accelerator can run goes to it, in as few parts as possible.
    let convolutions = |module: &GraphModule, id: NodeId| {
        let node = &module.graph()[id];
        let called = module.state().modules.get(node.target().name()).map(|called| called.type_name());
        node.target().name() == "add" || matches!(called, Some("Conv2d" | "BatchNorm2d" | "ReLU"))
    };
    let fused = CapabilityBasedPartitioner::new(&traced, convolutions).partition_and_fuse()?;
    println!("With a backend for convolutions:\n{}\n", fused.graph());
    assert_eq!(fused.forward(&x)?, expected);

    let split = split_by_support(&traced, convolutions, SplitSettings::default())?;
    println!("Everything in a part, for the device or for the CPU:\n{}\n", split.graph());
    assert_eq!(split.forward(&x)?, expected);

    let whole = inline_submodules(&split)?;
    assert_eq!(whole.graph(), traced.graph());
    println!("In one piece again, the graph is the one that was captured.");
    Ok(())
}
