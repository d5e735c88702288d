//! Bisection for the first difference of two models.

use super::{Difference, differ, difference, pairs};
use crate::arg::Arg;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{NodeId, Opcode};
use crate::graph_module::{GraphModule, Inputs};
use crate::ops::Tolerance;
use crate::passes::halve::first_failure;

/// The first node of the same name at which two models differ, by bisection: models that end there are run by their
/// plans, as many as the logarithm of the number of nodes.
///
/// It relies on that what differs goes on to differ; where a difference vanishes again (in a comparison, say), use
/// [`compare`](super::compare).
///
/// # Errors
/// If a model cannot be run on the inputs.
pub fn bisect(
    a: &GraphModule,
    b: &GraphModule,
    inputs: impl Inputs,
    tolerance: Tolerance,
) -> Result<Option<Difference>> {
    let inputs = inputs.into_args();
    let pairs = pairs(a.graph(), b.graph());
    let probe = |place: usize| -> Result<Option<String>> {
        let (in_a, in_b) = pairs[place];
        let value_a = prefix(a, in_a)?.run(inputs.clone())?;
        let value_b = prefix(b, in_b)?.run(inputs.clone())?;
        Ok(differ(&value_a, &value_b, tolerance))
    };
    if pairs.is_empty() || probe(pairs.len() - 1)?.is_none() {
        return Ok(None);
    }
    let place = first_failure(0..pairs.len(), |place| Ok(probe(place)?.is_some()))?;
    let (in_a, in_b) = pairs[place];
    Ok(probe(place)?.map(|message| difference(a.graph(), in_a, b.graph(), in_b, message)))
}

/// The model up to a node: its output is that node's value, and what that does not need is left out.
///
/// # Errors
/// If the node is not in the graph.
pub fn prefix(module: &GraphModule, node: NodeId) -> Result<GraphModule> {
    let mut prefix = module.clone();
    prefix.edit(|graph| {
        let op = graph.get(node).map(|node| node.op());
        let op = op.ok_or_else(|| Error::new(ErrorKind::Graph, format!("node {node} is not in the graph")))?;
        match graph.output_node() {
            _ if op == Opcode::Output => {}
            Some(output) => graph.set_args(output, vec![Arg::Value(node)]),
            None => drop(graph.output(node)),
        }
        graph.eliminate_dead_code(|_, _| false);
        Ok(())
    })?;
    prefix.delete_unused_state();
    Ok(prefix)
}
