//! Calls of leaf modules become the functions of their `forward`, on their parameters.
//!
//! `conv1(x)` becomes `conv2d(x, weight)`, where `weight` reads `conv1.weight`. What a `forward` decides for itself, such
//! as whether it is training, is decided when the pass runs. Modules that are graphs become part of the graph.

use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::graph::{Graph, NodeId, Opcode};
use crate::graph_module::{GraphModule, State};
use crate::module::Module;
use crate::trace::{Leaves, rewrite};

/// Decomposes all calls of modules. Gives how many there were.
///
/// # Errors
/// If the `forward` of a module cannot be captured.
pub fn decompose_modules(module: &mut GraphModule) -> Result<usize> {
    decompose_modules_if(module, |_, _, _| true)
}

/// Decomposes the calls of modules that `accept` accepts.
///
/// # Errors
/// As [`decompose_modules`].
pub fn decompose_modules_if(
    module: &mut GraphModule,
    accept: impl Fn(&Graph, NodeId, &dyn Module) -> bool,
) -> Result<usize> {
    let accepted = accepted(module.graph(), module.state(), accept);
    if accepted.is_empty() {
        return Ok(0);
    }
    module.edit_with_state(|graph, state| decompose(graph, state, &accepted))
}

/// As [`decompose_modules_if`], within an edit.
pub(super) fn decompose_modules_within(
    graph: &mut Graph,
    state: &mut State,
    accept: impl Fn(&Graph, &State, NodeId) -> bool,
) -> Result<usize> {
    let accepted = accepted(graph, state, |graph, id, _| accept(graph, state, id));
    if accepted.is_empty() { Ok(0) } else { decompose(graph, state, &accepted) }
}

/// The calls of modules that are accepted.
fn accepted(graph: &Graph, state: &State, accept: impl Fn(&Graph, NodeId, &dyn Module) -> bool) -> FxHashSet<NodeId> {
    let calls = graph.nodes().filter(|(_, node)| node.op() == Opcode::CallModule);
    calls
        .filter(|(id, node)| state.callee(node).is_some_and(|leaf| accept(graph, *id, &**leaf)))
        .map(|(id, _)| id)
        .collect()
}

fn decompose(graph: &mut Graph, state: &mut State, accepted: &FxHashSet<NodeId>) -> Result<usize> {
    let count = rewrite(graph, state, Leaves::None, |call| match call.module() {
        Some(leaf) if accepted.contains(&call.id) => leaf.call_proxy(call.args.clone(), &call.kwargs).map(Some),
        _ => Ok(None),
    })?;
    state.retain_used(graph);
    Ok(count)
}
