//! What a capture costs, what replay adds to each node, and how fast ResNet-50 runs eagerly and by its plan.
//!
//! ```text
//! cargo bench --bench capture
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

fn report(what: &str, microseconds: f64) {
    println!("{what:<60} {microseconds:>12.2} us");
}

fn resnet50() {
    let model = nn::models::resnet50(1000);
    model.eval();
    report("ResNet-50: trace", median(50, || drop(black_box(fx::trace(&model)))));
    let image = Tensor::rand([1, 3, 224, 224]);
    let plan = || fx::trace(&model).and_then(|traced| traced.plan(&image));
    report("ResNet-50: trace, optimise, pack, plan", median(5, || drop(black_box(plan()))));
    let traced = fx::trace(&model).expect("ResNet-50 can be captured");
    report("ResNet-50: optimise", median(5, || drop(black_box(fx::passes::optimize(&mut traced.clone())))));
    // A few sizes more than the plans that are kept, so that each is planned anew.
    let sizes: Vec<Tensor> = (1..20).map(|batch| Tensor::zeros([batch, 3, 32, 32])).collect();
    let replan = || sizes.iter().for_each(|x| drop(black_box(traced.plan(x))));
    report("ResNet-50: plan for another batch size", median(5, replan) / sizes.len() as f64);
    let traced = fx::trace(&model).expect("ResNet-50 can be captured");
    for threads in [1, 2] {
        fx::set_num_threads(threads);
        let eager = median(10, || drop(black_box(model.forward(&image))));
        report(&format!("ResNet-50: eager, batch 1, {threads} threads"), eager);
        let planned = median(10, || drop(black_box(traced.forward(&image))));
        report(&format!("ResNet-50: plan, batch 1, {threads} threads"), planned);
    }
    fx::set_num_threads(0);
}

/// A chain of `relu` on one element: the work of the op, and what replay adds.
fn overhead() {
    const NODES: usize = 1000;
    let chain = fx::trace_fn!(|x| (0..NODES).fold(x, |x, _| x.relu())).expect("a chain can be captured");
    let x = Tensor::from([1.0_f32]);
    let args = || vec![fx::Arg::Value(x.clone())];
    let op = median(200, || {
        for _ in 0..NODES {
            drop(black_box(ops::relu.eval(&args(), &fx::Kwargs::new())));
        }
    });
    let run = |module: &GraphModule| drop(black_box(Interpreter::<Tensor>::new(module).run(args())));
    report("relu of one element: the op alone", op / NODES as f64);
    report("relu of one element: interpreter, per node", median(200, || run(&chain)) / NODES as f64);
    report("relu of one element: plan, per node", median(200, || drop(black_box(chain.forward(&x)))) / NODES as f64);
}

fn main() {
    overhead();
    resnet50();
}
