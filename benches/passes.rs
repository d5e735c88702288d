//! What passes cost: on ResNet-50, and on graphs of 10,000 and 20,000 nodes, to see that it grows with the nodes.
//!
//! ```text
//! cargo bench --bench passes [-- <graph>..]
//! ```
//!
//! Each figure is the median of repeated runs, each on a copy made before. `tools/torch_ref/passes_bench.py` prints the same
//! figures for torch.fx, and with `--rust FILE` their ratios. Graphs are `resnet50`, and numbers of nodes.

use std::hint::black_box;
use std::time::Instant;

use fx::passes::*;
use fx::prelude::*;
use fx::{GraphModule, nn};

/// The median time of `f` on copies of a module, in microseconds.
fn median<R>(runs: usize, module: &GraphModule, mut f: impl FnMut(&mut GraphModule) -> R) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let mut copy = module.clone();
            let start = Instant::now();
            black_box(f(&mut copy));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn measure(what: &str, module: &GraphModule) {
    let report = |name: &str, microseconds: f64| println!("{:<44} {microseconds:>12.1} us", format!("{what}: {name}"));
    let passes: [(&str, fn(&mut GraphModule) -> fx::Result<usize>); 8] = [
        ("dead code", eliminate_dead_code),
        ("common subexpressions", eliminate_common_subexpressions),
        ("constant folding", fold_constants),
        ("remove dropout", remove_dropout),
        ("fuse conv-bn", fuse_conv_bn),
        ("topological sort", |module| module.edit(fx::Graph::sort_topologically)),
        ("canonical order and names", canonicalize),
        ("modules to functions", decompose_modules),
    ];
    for (name, pass) in passes {
        report(name, median(9, module, |module| pass(module).expect("the pass succeeds")));
    }
    let pattern = fx::trace_fn!(|x| x.relu()).expect("a pattern");
    let replacement = fx::trace_fn!(|x| x.clamp(0.0, None)).expect("a replacement");
    let replace = |module: &mut GraphModule| replace_pattern(module, &pattern, &replacement).expect("it fits").len();
    report("replace a pattern", median(9, module, replace));
    report("lint", median(9, module, |module| module.graph().lint()));
    report("print", median(9, module, |module| module.graph().to_string()));
    report("copy", median(9, module, |module| module.clone()));
    let transform = |module: &mut GraphModule| fx::trace::transform(module, fx::interpreter::NoHooks);
    report("transform", median(9, module, transform));
}

/// Five nodes a step: two that are equal, one that nobody uses.
fn chain(nodes: usize) -> GraphModule {
    let step = |x: fx::Proxy| {
        let product = (&x + 1.0) * (&x + 1.0);
        product.neg();
        product.relu()
    };
    fx::trace_fn!(|x| (0..nodes / 5).fold(x, |x, _| step(x))).expect("a chain can be captured")
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let graphs = if asked.is_empty() { ["resnet50", "10000", "20000"].map(str::to_owned).to_vec() } else { asked };
    for graph in graphs {
        match graph.parse::<usize>() {
            Ok(nodes) => measure(&format!("{nodes} nodes"), &chain(nodes)),
            Err(_) => {
                let model = nn::models::resnet50(1000);
                model.eval();
                measure("ResNet-50", &fx::trace(&model).expect("ResNet-50 can be captured"));
            }
        }
    }
}
