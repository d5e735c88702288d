//! Calls that would compute the same are made once.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::effect;
use crate::error::Result;
use crate::graph::{Graph, Node, NodeId, Opcode, Target};
use crate::graph_module::GraphModule;
use crate::ops::{Effect, Function};

/// Merges calls and reads with equal targets and arguments into the first of them. `x.relu()` and `relu(x)` are equal.
/// Random calls and calls with effects stay, and reads do not move across an effect. Gives how many nodes went.
///
/// # Errors
/// None that a graph in order can give.
pub fn eliminate_common_subexpressions(module: &mut GraphModule) -> Result<usize> {
    module.edit_with_state(|graph, state| {
        let before = graph.len();
        let mut first: FxHashMap<u64, SmallVec<[NodeId; 2]>> = FxHashMap::default();
        for id in graph.node_ids() {
            if matches!(graph[id].op(), Opcode::Placeholder | Opcode::Output) {
                continue;
            }
            let candidates = first.entry(hash(&graph[id])).or_default();
            // A module's effect takes time to find out: it is asked of calls that have a double, and of those in training.
            let training = state.callee(&graph[id]).is_some_and(|module| module.is_training());
            let double = candidates.iter().copied().find(|other| is_equal(graph, *other, id));
            if (double.is_some() || training || graph[id].function().is_some())
                && effect(state, &graph[id]) != Effect::Pure
            {
                if effect(state, &graph[id]) == Effect::Impure {
                    first.clear();
                }
                continue;
            }
            match double {
                Some(double) => {
                    graph.replace_all_uses_with(id, double);
                    graph.erase_node(id)?;
                }
                None => candidates.push(id),
            }
        }
        state.retain_used(graph);
        Ok(before - graph.len())
    })
}

/// What a node calls: the function itself, however it is written, or the opcode and what it is of.
fn callee(node: &Node) -> (Option<Function>, Option<(Opcode, &Target)>) {
    let function = node.function();
    (function, function.is_none().then(|| (node.op(), node.target())))
}

fn hash(node: &Node) -> u64 {
    let mut hasher = FxHasher::default();
    callee(node).hash(&mut hasher);
    node.args().hash(&mut hasher);
    node.kwargs().hash(&mut hasher);
    hasher.finish()
}

fn is_equal(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    let (a, b) = (&graph[a], &graph[b]);
    callee(a) == callee(b) && a.args() == b.args() && a.kwargs() == b.kwargs()
}
