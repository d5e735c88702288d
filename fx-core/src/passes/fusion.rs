//! A chain of calls, each of which alone uses the one before it, becomes one call.

use crate::error::Result;
use crate::graph::{Graph, NodeArg, NodeId};
use crate::ops;

/// The node that alone uses another.
pub(super) fn only_user(graph: &Graph, id: NodeId) -> Option<NodeId> {
    let mut users = graph[id].users();
    users.next().filter(|_| users.next().is_none())
}

/// The sum that alone uses a node, and its other operand.
pub(super) fn sum_after(graph: &Graph, id: NodeId) -> Option<(NodeId, NodeArg)> {
    let user = only_user(graph, id)?;
    let node = &graph[user];
    let other = match node.args() {
        [a, b] if a.as_value() == Some(&id) => b,
        [a, b] if b.as_value() == Some(&id) => a,
        _ => return None,
    };
    let is_sum = node.function() == Some(ops::add) && node.kwargs().is_empty() && other.as_value() != Some(&id);
    is_sum.then(|| (user, other.clone()))
}

/// Puts the call that `build` makes in the place of the last of a chain: there all operands are defined.
pub(super) fn replace_chain(
    graph: &mut Graph,
    chain: &[NodeId],
    build: impl FnOnce(&mut Graph) -> NodeId,
) -> Result<()> {
    let Some(&last) = chain.last() else { return Ok(()) };
    let meta = graph[last].meta().clone();
    let call = graph.inserting_before(last, build);
    if let Some(noted) = graph.meta_mut(call) {
        *noted = meta;
    }
    graph.replace_all_uses_with(last, call);
    chain.iter().rev().try_for_each(|id| graph.erase_node(*id))
}
