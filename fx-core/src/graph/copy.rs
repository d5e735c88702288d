//! Copying nodes from one graph into another.

use std::collections::HashMap;

use super::{Graph, NodeArg, NodeId, Opcode};
use crate::arg::Kwargs;
use crate::error::{Error, ErrorKind, Result};

/// Which argument stands in a copy for which node of the original.
pub type NodeMap = HashMap<NodeId, NodeArg>;

/// What stands in a copy for a node of the original.
pub(crate) fn mapped(graph: &Graph, map: &NodeMap, id: NodeId) -> Result<NodeArg> {
    map.get(&id).cloned().ok_or_else(|| {
        let name = graph.get(id).map_or_else(|| id.to_string(), |node| node.name().to_owned());
        Error::new(ErrorKind::Graph, format!("%{name} is used before it is defined"))
    })
}

impl Graph {
    /// Copies a node of another graph to the insertion point, with its metadata; `input` says what its arguments
    /// become here.
    ///
    /// # Errors
    /// If the node is not in `other`, or `input` fails or gives a node that is not in this graph.
    pub fn node_copy(
        &mut self,
        other: &Graph,
        id: NodeId,
        input: &mut impl FnMut(NodeId) -> Result<NodeArg>,
    ) -> Result<NodeId> {
        let node =
            other.get(id).ok_or_else(|| Error::new(ErrorKind::Graph, format!("node {id} is not in the graph")))?;
        let mut input = |id: &NodeId| input(*id);
        let args = node.args.iter().map(|arg| arg.try_flat_map(&mut input)).collect::<Result<Vec<_>>>()?;
        let kwargs = node.kwargs.try_flat_map(&mut input)?;
        self.check_inputs(&args, &kwargs)?;
        let copy = self.create_node(node.op, node.target.clone(), args, kwargs, Some(node.name()));
        if let Some(new) = self.node_mut(copy) {
            new.annotation.clone_from(&node.annotation);
            new.meta = node.meta.clone();
        }
        Ok(copy)
    }

    fn check_inputs(&self, args: &[NodeArg], kwargs: &Kwargs<NodeId>) -> Result<()> {
        let mut foreign = None;
        let mut check = |id: &NodeId| {
            if !self.contains(*id) {
                foreign = Some(*id);
            }
        };
        args.iter().for_each(|arg| arg.for_each(&mut check));
        kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut check));
        match foreign {
            Some(id) => Err(Error::new(ErrorKind::Graph, format!("node {id} is not in the graph that is copied to"))),
            None => Ok(()),
        }
    }

    /// Copies all nodes of another graph but its output to the insertion point; nodes that are in `map` already
    /// are not copied but stand for what they map to. Gives what the other graph gives, in terms of this one.
    ///
    /// # Errors
    /// If a node is used before it is defined.
    pub fn graph_copy(&mut self, other: &Graph, map: &mut NodeMap) -> Result<Option<NodeArg>> {
        for (id, node) in other.nodes() {
            if map.contains_key(&id) {
                continue;
            }
            if node.op == Opcode::Output {
                return node.args.first().map(|arg| arg.try_flat_map(&mut |id| mapped(other, map, *id))).transpose();
            }
            let copy = self.node_copy(other, id, &mut |id| mapped(other, map, id))?;
            map.insert(id, NodeArg::Value(copy));
        }
        Ok(None)
    }
}
