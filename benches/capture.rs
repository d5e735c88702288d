//! What a capture costs, what replay adds to each node, and how fast ResNet-50 runs eagerly and by its plan.
//!
//! ```text
//! cargo bench --bench capture [-- <part of a name>]
//! ```
//!
//! Each figure is the median of repeated runs. `tools/torch_ref/bench.py` prints the same figures for PyTorch and torch.fx.

use std::hint::black_box;
use std::time::Instant;

use fx::prelude::*;
use fx::{GraphModule, Interpreter, nn, ops};

/// The median time of `f`, in microseconds.
fn median(runs: usize, mut f: impl FnMut()) -> f64 {
    f();
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Prints the median time of `f`, shared among `parts`, if the figure was asked for.
fn report(what: &str, runs: usize, parts: usize, f: impl FnMut()) {
    let asked = std::env::args().skip(1).find(|arg| arg != "--bench");
    if asked.is_none_or(|part| what.contains(&part)) {
        println!("{what:<60} {:>12.2} us", median(runs, f) / parts as f64);
    }
}

fn resnet50() {
    let model = nn::models::resnet50(1000);
    model.eval();
    report("ResNet-50: trace alone", 1000, 1, || drop(black_box(fx::trace(&model))));
    let image = Tensor::rand([1, 3, 224, 224]);
    let plan = || fx::trace(&model).and_then(|traced| traced.plan(&image));
    report("ResNet-50: trace, optimise, pack, plan", 5, 1, || drop(black_box(plan())));
    let traced = fx::trace(&model).expect("ResNet-50 can be captured");
    report("ResNet-50: optimise", 5, 1, || drop(black_box(fx::passes::optimize(&mut traced.clone()))));
    // A few sizes more than the plans that are kept, so that each is planned anew.
    let sizes: Vec<Tensor> = (1..20).map(|batch| Tensor::zeros([batch, 3, 32, 32])).collect();
    let replan = || sizes.iter().for_each(|x| drop(black_box(traced.plan(x))));
    report("ResNet-50: plan for another batch size", 20, sizes.len(), replan);
    let traced = fx::trace(&model).expect("ResNet-50 can be captured");
    for threads in [1, 2] {
        fx::set_num_threads(threads);
        let eager = || drop(black_box(model.forward(&image)));
        report(&format!("ResNet-50: eager, batch 1, {threads} threads"), 10, 1, eager);
        let planned = || drop(black_box(traced.forward(&image)));
        report(&format!("ResNet-50: plan, batch 1, {threads} threads"), 10, 1, planned);
    }
    fx::set_num_threads(0);
}

/// A chain of `relu` on one element: the work of the op, and what replay adds.
fn overhead() {
    const NODES: usize = 1000;
    let chain = fx::trace_fn!(|x| (0..NODES).fold(x, |x, _| x.relu())).expect("a chain can be captured");
    let x = Tensor::from([1.0_f32]);
    let args = || vec![fx::Arg::Value(x.clone())];
    let op = || {
        for _ in 0..NODES {
            drop(black_box(ops::relu.eval(&args(), &fx::Kwargs::new())));
        }
    };
    let run = |module: &GraphModule| drop(black_box(Interpreter::<Tensor>::new(module).run(args())));
    report("relu of one element: the op alone", 200, NODES, op);
    report("relu of one element: interpreter, per node", 200, NODES, || run(&chain));
    report("relu of one element: plan, per node", 200, NODES, || drop(black_box(chain.forward(&x))));
}

fn main() {
    overhead();
    resnet50();
}
