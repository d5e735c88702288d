//! Passes: the graph before, the graph after, and the same numbers.

#[path = "../support/mod.rs"]
mod support;

#[path = "../support/fill.rs"]
#[allow(dead_code, reason = "not every test uses everything")]
mod fill;

mod all_passes;
mod canonical;
mod cleaning;
mod constants;
mod cse;
mod decompose_modules;
mod fold_layers;
mod fuse_conv_bn;
mod manager;
mod module_api;
mod patch;
mod pattern;

use fx::graph_module::State;
use fx::prelude::*;
use fx::{Arg, Graph, GraphModule};

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

fn run(module: &GraphModule, inputs: &[Tensor]) -> Vec<Tensor> {
    let output = module.run(inputs.iter().cloned().map(Arg::Value).collect()).expect("the graph runs");
    let mut tensors = Vec::new();
    output.for_each(&mut |tensor: &Tensor| tensors.push(tensor.clone()));
    tensors
}

/// Checks that two modules give the same, up to a tolerance.
#[track_caller]
fn check_close(a: &GraphModule, b: &GraphModule, inputs: &[Tensor], rtol: f64, atol: f64) {
    let (a, b) = (run(a, inputs), run(b, inputs));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()));
        assert!(b.all_close(a, rtol, atol), "off by {}", a.max_abs_diff(b));
    }
}
