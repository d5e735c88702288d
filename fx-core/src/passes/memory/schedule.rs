//! An order in which a graph can run.

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId};

/// Checks that an order has each node of a graph once, behind what it uses.
pub(super) fn check_order(graph: &Graph, order: &[NodeId]) -> Result<()> {
    let wrong = |message: String| Err(Error::new(ErrorKind::Graph, message));
    let mut seen = FxHashSet::default();
    for id in order {
        let Some(node) = graph.get(*id) else { return wrong(format!("node {id} is not in the graph")) };
        if !seen.insert(id) {
            return wrong(format!("%{} is in the schedule twice", node.name()));
        }
        if let Some(input) = node.inputs().iter().find(|input| !seen.contains(input)) {
            let message = format!("%{} comes before its input %{} in the schedule", node.name(), graph[*input].name());
            return wrong(message);
        }
    }
    if order.len() != graph.len() {
        return wrong(format!("the schedule has {} of {} nodes", order.len(), graph.len()));
    }
    Ok(())
}
