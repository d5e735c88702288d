//! One order and one set of names for all graphs that compute the same in the same way, for caching and comparing.

use rustc_hash::FxHashSet;

use super::effect;
use crate::error::Result;
use crate::graph::{Graph, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::Effect;

/// Orders the nodes as the output needs them, and names them after what they call. Inputs keep their order, and so do calls
/// with effects and random calls. Gives how many nodes have a new place or name.
///
/// # Errors
/// None that a graph in order can give.
pub fn canonicalize(module: &mut GraphModule) -> Result<usize> {
    module.edit_with_state(|graph, state| {
        let before = names(graph);
        // What is called for its effect, and what nobody uses, is needed too, in the order in which it stands.
        let is_root = |id: &NodeId| {
            let node = &graph[*id];
            node.op() == Opcode::Placeholder || node.users().len() == 0 || effect(state, node) != Effect::Pure
        };
        let ids = graph.node_ids();
        let inputs = ids.iter().copied().filter(|id| graph[*id].op() == Opcode::Placeholder);
        let roots: Vec<_> = inputs.chain(ids.iter().copied().filter(is_root)).collect();
        let order = needed(graph, roots);
        graph.arrange(&order);
        graph.rename_all();
        Ok(before.iter().zip(&names(graph)).filter(|(before, after)| before != after).count())
    })
}

/// The roots, each after what it uses.
fn needed(graph: &Graph, roots: Vec<NodeId>) -> Vec<NodeId> {
    let mut order = Vec::with_capacity(graph.len());
    let (mut entered, mut done) = (FxHashSet::default(), FxHashSet::default());
    let mut stack: Vec<_> = roots.into_iter().rev().collect();
    while let Some(id) = stack.last().copied() {
        if entered.insert(id) {
            stack.extend(graph[id].inputs().into_iter().rev().filter(|input| !entered.contains(input)));
            continue;
        }
        stack.pop();
        if done.insert(id) {
            order.push(id);
        }
    }
    order
}

fn names(graph: &Graph) -> Vec<(NodeId, String)> {
    graph.nodes().map(|(id, node)| (id, node.name().to_owned())).collect()
}
