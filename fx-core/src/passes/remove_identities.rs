//! Calls that give their input as it is go: dropout that is off, `nn::Identity`, `clone`, `detach`, `contiguous`.

use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph::{Node, NodeId, Opcode};
use crate::graph_module::{GraphModule, State};
use crate::module::{Entry, Module, entries};
use crate::ops::{self, Function};
use crate::trace::{Leaves, trace_call};

/// Removes all calls that give their first argument as it is.
///
/// # Errors
/// None that a graph in order can give.
pub fn remove_identities(module: &mut GraphModule) -> Result<usize> {
    remove(module, &[ops::clone_, ops::contiguous, ops::detach, ops::dropout, ops::feature_dropout])
}

/// Removes dropout that is off: of modules in evaluation, and with probability 0. Dropout that is on stays.
///
/// # Errors
/// None that a graph in order can give.
pub fn remove_dropout(module: &mut GraphModule) -> Result<usize> {
    remove(module, &[ops::dropout, ops::feature_dropout])
}

fn remove(module: &mut GraphModule, functions: &[Function]) -> Result<usize> {
    module.edit_with_state(|graph, state| {
        let mut count = 0;
        for id in graph.node_ids() {
            let Some(input) = identity_of(state, &graph[id], functions) else { continue };
            graph.replace_all_uses_with(id, input);
            graph.erase_node(id)?;
            count += 1;
        }
        state.retain_used(graph);
        Ok(count)
    })
}

/// The input that a call gives as it is.
fn identity_of(state: &State, node: &Node, functions: &[Function]) -> Option<NodeId> {
    let input = *node.args().first()?.as_value()?;
    let same = match node.op() {
        Opcode::CallModule => is_identity(&**state.modules.get(node.target().name())?, node, functions),
        _ => node.function().is_some_and(|function| functions.contains(&function) && is_off(node.kwargs())),
    };
    same.then_some(input)
}

/// Whether a call of dropout, or another of the functions, changes nothing.
fn is_off(kwargs: &Kwargs<NodeId>) -> bool {
    matches!((kwargs.get("training"), kwargs.get("p")), (None | Some(Arg::Bool(false)), _) | (_, Some(Arg::Float(0.0))))
}

/// Whether a module's `forward` consists of calls that change nothing.
fn is_identity(module: &dyn Module, node: &Node, functions: &[Function]) -> bool {
    if entries(module).iter().any(|(_, entry)| !matches!(entry, Entry::Training(_))) {
        return false;
    }
    let Ok((body, _)) = trace_call(Leaves::None, module, node.args(), node.kwargs()) else { return false };
    let graph = body.graph();
    let calls = graph.nodes().filter(|(_, node)| !matches!(node.op(), Opcode::Placeholder | Opcode::Output));
    let only_calls = calls.clone().all(|(_, node)| identity_of(body.state(), node, functions).is_some());
    // A dropout that is left out must be one: an empty `forward` is an identity, but no dropout.
    let wanted = functions.contains(&ops::clone_) || calls.count() > 0;
    only_calls && wanted && graph.placeholders().len() == 1 && gives_a_value(&body)
}

fn gives_a_value(body: &GraphModule) -> bool {
    matches!(body.graph().output_arg(), Some(Arg::Value(_)))
}
