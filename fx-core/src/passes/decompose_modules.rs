//! Calls of leaf modules become the functions of their `forward`, on their parameters.
//!
//! `conv1(x)` becomes `conv2d(x, weight)`, where `weight` reads `conv1.weight`. What a `forward` decides for itself, such
//! as whether it is training, is decided when the pass runs. Modules that are graphs become part of the graph.

use std::collections::HashSet;

use crate::error::Result;
use crate::graph::{Graph, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::module::Module;
use crate::trace::Leaves;

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
    let (graph, modules) = (module.graph(), &module.state().modules);
    let accepted: HashSet<NodeId> = graph
        .nodes()
        .filter(|(_, node)| node.op() == Opcode::CallModule)
        .filter(|(id, node)| modules.get(node.target().name()).is_some_and(|leaf| accept(graph, *id, &**leaf)))
        .map(|(id, _)| id)
        .collect();
    if accepted.is_empty() {
        return Ok(0);
    }
    module.rewrite(Leaves::None, |call| match call.module() {
        Some(leaf) if accepted.contains(&call.id) => leaf.call_proxy(call.args.clone(), &call.kwargs).map(Some),
        _ => Ok(None),
    })
}
