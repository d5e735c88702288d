//! Finding nodes: by what they call, by name.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::{Graph, NodeArg, NodeId, Opcode, Target};
use crate::ops::Function;

/// The nodes of each opcode and target, by a hash of them, in no order. Some may be gone or call something else: they are
/// passed over, and go when they are the most.
#[derive(Clone, Default)]
pub(super) struct Calls {
    nodes: FxHashMap<u64, SmallVec<[NodeId; 2]>>,
    len: usize,
}

fn key(op: Opcode, target: &Target) -> u64 {
    FxBuildHasher.hash_one((op, target))
}

impl Graph {
    /// Notes what a node will call.
    pub(super) fn note_call(&mut self, id: NodeId, op: Opcode, target: &Target) {
        if self.calls.len > 2 * self.len + 64 {
            let mut nodes: FxHashMap<_, SmallVec<_>> = FxHashMap::default();
            for (id, node) in self.nodes() {
                nodes.entry(key(node.op, &node.target)).or_default().push(id);
            }
            self.calls = Arc::new(Calls { nodes, len: self.len });
        }
        let calls = Arc::make_mut(&mut self.calls);
        calls.nodes.entry(key(op, target)).or_default().push(id);
        calls.len += 1;
    }

    /// The nodes of an opcode and target, in order.
    pub fn find_nodes(&self, op: Opcode, target: impl Into<Target>) -> Vec<NodeId> {
        let target = target.into();
        let found = self.calls.nodes.get(&key(op, &target)).into_iter().flatten().copied();
        let calls = |id: &NodeId| self.get(*id).is_some_and(|node| (node.op, &node.target) == (op, &target));
        let mut found: Vec<_> = found.filter(calls).collect();
        self.sort_by_order(&mut found);
        found.dedup();
        found
    }

    /// The calls of a function, written as a function or as a method, in order.
    pub fn find_calls(&self, function: Function) -> Vec<NodeId> {
        let mut found = self.find_nodes(Opcode::CallFunction, function);
        if Function::lookup(function.name()) == Some(function) {
            found.extend(self.find_nodes(Opcode::CallMethod, function.name()));
        }
        self.sort_by_order(&mut found);
        found
    }

    /// The node with this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.node(name).filter(|id| self.get(*id).is_some_and(|node| node.name() == name))
    }

    /// The nodes of an opcode, in order.
    pub fn find_all(&self, op: Opcode) -> Vec<NodeId> {
        self.nodes().filter(|(_, node)| node.op() == op).map(|(id, _)| id).collect()
    }

    /// The placeholders, in order.
    pub fn placeholders(&self) -> Vec<NodeId> {
        self.find_all(Opcode::Placeholder)
    }

    /// The output node, if there is one.
    pub fn output_node(&self) -> Option<NodeId> {
        self.nodes().rev().find(|(_, node)| node.op() == Opcode::Output).map(|(id, _)| id)
    }

    /// What the graph gives: the argument of its output node.
    pub fn output_arg(&self) -> Option<&NodeArg> {
        self.output_node().and_then(|id| self[id].args().first())
    }
}
