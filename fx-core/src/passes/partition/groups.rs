//! Which nodes may go together.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::arg::Arg;
use crate::graph::{Graph, NodeId};
use crate::graph_module::GraphModule;
use crate::ops;
use crate::passes::extract::dependencies;
use crate::passes::split::calls;
use crate::passes::support::OperatorSupport;

/// The supported calls. An element of a structure goes where the structure is made.
pub(in crate::passes) fn supported(module: &GraphModule, support: &impl OperatorSupport) -> FxHashSet<NodeId> {
    let (graph, mut supported) = (module.graph(), FxHashSet::default());
    for id in calls(graph) {
        let node = &graph[id];
        let structure = node.args().first().and_then(|arg| arg.as_value()).filter(|input| is_structure(graph, **input));
        let is_supported = match structure {
            Some(input) if node.function() == Some(ops::getitem) => supported.contains(input),
            _ => support.is_node_supported(module, id),
        };
        if is_supported {
            supported.insert(id);
        }
    }
    supported
}

/// Whether a node gives several values: all its users take elements by position.
fn is_structure(graph: &Graph, id: NodeId) -> bool {
    let known = graph[id].meta().shape().map(|shape| shape.as_value().is_none());
    known.unwrap_or_else(|| {
        let takes = |user: NodeId| {
            graph[user].function() == Some(ops::getitem) && matches!(graph[user].args(), [_, Arg::Int(_)])
        };
        graph[id].users().all(takes)
    })
}

/// For each node, the number of steps from supported to unsupported on the longest way to it.
pub(super) fn levels(module: &GraphModule, supported: &FxHashSet<NodeId>) -> FxHashMap<NodeId, usize> {
    let mut levels: FxHashMap<NodeId, usize> = module.graph().nodes().map(|(id, _)| (id, 0)).collect();
    for (before, id) in dependencies(module) {
        let step = usize::from(supported.contains(&before) && !supported.contains(&id));
        let level = levels[&before] + step;
        levels.entry(id).and_modify(|have| *have = level.max(*have));
    }
    levels
}

/// The nodes in groups that are connected by uses.
pub(super) fn connected(graph: &Graph, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
    fn root(parents: &mut FxHashMap<NodeId, NodeId>, id: NodeId) -> NodeId {
        let mut at = id;
        while parents[&at] != at {
            let up = parents[&parents[&at]];
            parents.insert(at, up);
            at = up;
        }
        at
    }
    let mut parents: FxHashMap<NodeId, NodeId> = nodes.iter().map(|id| (*id, *id)).collect();
    for id in nodes {
        for input in graph[*id].inputs() {
            if parents.contains_key(&input) {
                let (a, b) = (root(&mut parents, *id), root(&mut parents, input));
                parents.insert(a, b);
            }
        }
    }
    let mut groups: IndexMap<NodeId, Vec<NodeId>> = IndexMap::new();
    for id in nodes {
        groups.entry(root(&mut parents, *id)).or_default().push(*id);
    }
    groups.into_values().collect()
}
