//! What analyses, splits and pictures take on ResNet-50 and on a graph of 10,000 nodes.
//!
//! ```text
//! cargo bench --bench analysis
//! ```
//!
//! Each figure is the median of repeated runs. `tools/torch_ref/bench_analysis.py` prints the same figures for torch.fx, as
//! far as it has the pass.

use std::hint::black_box;
use std::time::Instant;

use fx::draw::{DotOptions, dot, html, svg};
use fx::passes::{
    CapabilityBasedPartitioner, cost, infer_shapes, inline_submodules, peak_memory, propagate_shapes, split_module,
};
use fx::prelude::*;
use fx::{Graph, GraphModule, Meta, NodeId, nn, ops};

fn report<R>(what: &str, runs: usize, mut f: impl FnMut() -> fx::Result<R>) {
    let mut time = || {
        let start = Instant::now();
        let _ = black_box(f().expect("the pass succeeds"));
        start.elapsed().as_secs_f64() * 1e3
    };
    time();
    let mut times: Vec<f64> = (0..runs).map(|_| time()).collect();
    times.sort_by(f64::total_cmp);
    println!("{what:<50} {:>10.3} ms", times[times.len() / 2]);
}

/// `relu`, `neg` and `add` in turn, each on the result of the one before it; `add` takes that of three before it too.
fn long(nodes: usize) -> GraphModule {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let (mut last, mut before) = (x, x);
    for i in 0..nodes - 2 {
        last = match i % 3 {
            0 => graph.call_method("relu", [last]),
            1 => graph.call_method("neg", [last]),
            _ => {
                let sum = graph.call_function(ops::add, [last, before]);
                before = sum;
                sum
            }
        };
    }
    graph.output(last);
    GraphModule::with_state(graph, Default::default(), "Long").expect("the graph is in order")
}

fn measure(name: &str, module: &GraphModule, input: &Tensor) {
    let meta = || [Meta::from(input)];
    let report = |what: &str, f: &mut dyn FnMut() -> fx::Result<()>| report(&format!("{name}: {what}"), 9, f);
    let mut shaped = module.clone();
    if name != "ResNet-50" {
        report("shapes by running", &mut || propagate_shapes(&mut shaped, input).map(drop));
    }
    report("shapes without data", &mut || infer_shapes(&mut shaped, meta()).map(drop));
    report("cost", &mut || cost(module, meta()).map(drop));
    report("peak memory", &mut || peak_memory(&shaped).map(drop));
    let tenths = |module: &GraphModule| {
        let (mut place, size) = (0, module.graph().len());
        split_module(module, |_, _| {
            place += 1;
            place * 10 / size
        })
    };
    report("split into 10 parts", &mut || tenths(module).map(drop));
    let parts = tenths(module).expect("parts follow each other");
    report("inline 10 parts", &mut || inline_submodules(&parts).map(drop));
    let support = |module: &GraphModule, id: NodeId| {
        let node = &module.graph()[id];
        let called = module.state().modules.get(node.target().name()).map(|called| called.type_name());
        called == Some("Conv2d") || called == Some("BatchNorm2d") || ["relu", "neg"].contains(&node.target().name())
    };
    report("partition by support", &mut || {
        drop(CapabilityBasedPartitioner::new(module, support).propose_partitions());
        Ok(())
    });
    report("partition and fuse", &mut || {
        CapabilityBasedPartitioner::new(module, support).partition_and_fuse().map(drop)
    });
    report("dot", &mut || {
        drop(dot(&shaped, "model", &DotOptions::default()));
        Ok(())
    });
    report("svg", &mut || {
        drop(svg(&shaped));
        Ok(())
    });
    report("html", &mut || {
        drop(html(&shaped));
        Ok(())
    });
}

fn main() {
    let model = nn::models::resnet50(1000);
    model.eval();
    measure("ResNet-50", &fx::trace(&model).expect("it can be captured"), &Tensor::zeros([1, 3, 224, 224]));
    let input = Tensor::ones([4]);
    for nodes in [1_000, 10_000] {
        measure(&format!("{nodes} nodes"), &long(nodes), &input);
    }
}
