//! Edits that are prepared beside a graph and applied whole or not at all.
//!
//! A patch is a graph of its own. Taps let it read values of the model, shunts put its values in the place of the model's.

use rustc_hash::FxHashSet;

use super::Part;
use super::splice::Splicer;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeArg, NodeId, NodeMap};
use crate::graph_module::{GraphModule, State};

/// An edit in preparation.
///
/// ```
/// # use fx_core::{passes::Patch, prelude::*, *};
/// # fn main() -> Result<()> {
/// let mut module = fx_core::trace_fn!(|x| x.sigmoid())?;
/// let sigmoid = module.graph().find("sigmoid").unwrap();
/// let mut patch = Patch::new();
/// let value = patch.tap(module.graph(), sigmoid)?;
/// let doubled = patch.graph.call_function(ops::mul, [value.into(), Arg::from(2.0)]);
/// patch.shunt(sigmoid, doubled);
/// patch.apply(&mut module)?;
/// assert!(module.graph().to_string().ends_with("return mul"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Patch {
    /// The new nodes.
    pub graph: Graph,
    /// The state that they refer to, beside that of the model.
    pub state: State,
    taps: Vec<(NodeId, NodeId)>,
    shunts: Vec<(NodeId, NodeArg)>,
}

impl Patch {
    /// An edit of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A node of the patch that has the value of a node of the model.
    ///
    /// # Errors
    /// If the node is not in the model's graph.
    pub fn tap(&mut self, model: &Graph, id: NodeId) -> Result<NodeId> {
        let node = model.get(id).ok_or_else(|| unknown(id))?;
        if let Some((tap, _)) = self.taps.iter().find(|(_, tapped)| *tapped == id) {
            return Ok(*tap);
        }
        let tap = self.graph.inserting_at_start(|graph| graph.placeholder(node.name()));
        self.taps.push((tap, id));
        Ok(tap)
    }

    /// Makes all users of a node of the model use a value of the patch instead; the patch itself still reads the node.
    pub fn shunt(&mut self, old: NodeId, new: impl Into<NodeArg>) {
        self.shunts.push((old, new.into()));
    }

    /// Applies the edit. Gives the new nodes; the nodes that were replaced go if nothing uses them.
    ///
    /// # Errors
    /// If a node is not in the model or the patch, or the edit makes a cycle. Then the module is as it was.
    pub fn apply(mut self, module: &mut GraphModule) -> Result<Vec<NodeId>> {
        self.graph.output(NodeArg::List(self.shunts.iter().map(|(_, new)| new.clone()).collect()));
        let part = Part { graph: self.graph, state: self.state };
        part.graph.lint()?;
        module.edit_with_state(|graph, state| {
            let known = self.taps.iter().map(|(_, id)| id).chain(self.shunts.iter().map(|(old, _)| old));
            if let Some(id) = known.copied().find(|id| !graph.contains(*id)) {
                return Err(unknown(id));
            }
            let tapped = graph.last_of(self.taps.iter().map(|(_, id)| *id));
            let place = tapped.or_else(|| graph.last_of(self.shunts.iter().map(|(old, _)| *old)));
            let Some(place) = place else { return Ok(Vec::new()) };
            let map: NodeMap = self.taps.iter().map(|(tap, id)| (*tap, NodeArg::Value(*id))).collect();
            let (output, copies) = Splicer::default().splice(graph, state, &part, map, place)?;
            let own: FxHashSet<NodeId> = copies.iter().copied().collect();
            for ((old, _), new) in self.shunts.iter().zip(output.as_items().unwrap_or_default()) {
                graph.keep_shape(*old, new);
                for user in graph[*old].users().filter(|user| !own.contains(user)).collect::<Vec<_>>() {
                    graph.map_inputs(user, &mut |input| if input == *old { new.clone() } else { input.into() });
                }
            }
            graph.sort_topologically()?;
            graph.erase_unused(self.shunts.iter().map(|(old, _)| *old).collect::<Vec<_>>());
            state.retain_used(graph);
            Ok(copies)
        })
    }
}

fn unknown(id: NodeId) -> Error {
    Error::new(ErrorKind::Graph, format!("node {id} is not in the graph of the model"))
}
