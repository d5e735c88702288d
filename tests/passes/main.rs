//! Passes: the graph before, the graph after, and the same numbers.

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/crates.rs"]
mod crates;

#[path = "../support/small.rs"]
mod small;

#[path = "../support/fill.rs"]
#[allow(dead_code, reason = "not every test uses everything")]
mod fill;

#[path = "../support/random/mod.rs"]
mod random_graphs;

mod all_passes;
mod calibration;
mod canonical;
mod cleaning;
mod compose_activations;
mod constants;
mod cse;
mod decompose_modules;
mod fold_layers;
mod fuse_conv_bn;
mod fuse_quantized;
mod generated;
mod manager;
mod matmul_to_linear;
mod module_api;
mod patch;
mod pattern;
mod quantize;
mod random;
mod reorder_avg_pools;
mod sum_attention_biases;

use fx::graph_module::State;
use fx::prelude::*;
use fx::{Arg, Graph, GraphModule, Interpreter};

/// A module of a printed graph.
#[track_caller]
fn module(text: &str, state: State) -> GraphModule {
    let graph: Graph = text.parse().expect("the graph parses");
    GraphModule::with_state(graph, state, "Test").expect("the graph is in order")
}

/// State with these parameters.
fn parameters<const N: usize>(entries: [(&str, Tensor); N]) -> State {
    let mut state = State::new();
    let entries = entries.map(|(path, tensor)| (path.to_owned(), Parameter::new(tensor)));
    state.parameters.extend(entries);
    state
}

fn tensors(output: fx::Result<Arg<Tensor>>) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    output.expect("the graph runs").for_each(&mut |tensor: &Tensor| tensors.push(tensor.clone()));
    tensors
}

/// Runs a module as it is, node by node: its plan has passes of its own.
fn run(module: &GraphModule, inputs: &[Tensor]) -> Vec<Tensor> {
    tensors(Interpreter::new(module).run(inputs.iter().cloned().map(Arg::Value).collect()))
}

fn run_plan(module: &GraphModule, inputs: &[Tensor]) -> Vec<Tensor> {
    tensors(module.run(inputs.iter().cloned().map(Arg::Value).collect()))
}

/// Checks that the second of two modules gives in every mode what the first gives, up to a tolerance.
#[track_caller]
fn check_close(a: &GraphModule, b: &GraphModule, inputs: &[Tensor], rtol: f64, atol: f64) {
    let wanted = run(a, inputs);
    let plan_atol = atol.max(if rtol == 0.0 { 1e-6 } else { 0.0 });
    let retraced = fx::trace::transform(b, fx::interpreter::NoHooks).expect("a captured model can be captured");
    let modes = [
        (run(b, inputs), rtol, atol),
        (run(&retraced, inputs), rtol, atol),
        (run_plan(b, inputs), rtol.max(1e-5), plan_atol),
    ];
    for (found, rtol, atol) in modes {
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!((found.dtype(), found.shape()), (wanted.dtype(), wanted.shape()));
            assert!(found.all_close(wanted, rtol, atol), "off by {}", found.max_abs_diff(wanted));
        }
    }
}
