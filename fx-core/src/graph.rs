//! The graph: an ordered list of nodes, each one call.
//!
//! Nodes are named by ids, not references: a [`NodeId`] is a small copyable handle that stays valid while others come
//! and go, and never comes to mean another node. The order of the nodes is a doubly linked list over ids, so insertion
//! and removal cost the same everywhere and are safe while iterating over [`Graph::node_ids`].
//!
//! **Invariants**, all recomputed and compared by [`Graph::lint`]: a node's users are the nodes whose arguments
//! mention it; names are unique; arguments are defined before their users; the output comes last. Arguments and users
//! are written by `edit.rs` alone, the order by `order.rs`.
//!
//! A copy is cheap: it shares the nodes, and what it changes of them it copies then.

mod build;
mod copy;
mod edit;
mod find;
mod lint;
mod meta;
mod namer;
mod node;
mod observe;
mod order;
mod parse;
mod print;
mod readable;

use std::fmt;
use std::ops::Index;
use std::sync::Arc;

pub use copy::NodeMap;
pub(crate) use copy::mapped;
pub(crate) use edit::Cursor;
pub use lint::{Owner, Violation};
pub use meta::{Metadata, ModuleFrame, ModuleStack, SourceLocation};
pub(crate) use namer::is_keyword;
pub use node::{Node, NodeId, NodeIds, Opcode, Target};
pub use observe::{Change, Observer};

use crate::arg::Arg;
use node::Slot;

/// An argument of a node.
pub type NodeArg = Arg<NodeId>;

/// An editable program of six opcodes.
///
/// ```
/// use fx_core::graph::{Graph, NodeArg};
/// use fx_core::ops;
///
/// let mut graph = Graph::new();
/// let x = graph.placeholder("x");
/// let y = graph.call_function(ops::add, [x.into(), NodeArg::from(1.0)]);
/// graph.output(y);
/// assert_eq!(
///     graph.to_string(),
///     "graph():
///     %x : [num_users=1] = placeholder[target=x]
///     %add : [num_users=1] = call_function[target=add](args = (%x, 1.0), kwargs = {})
///     return add"
/// );
/// ```
#[derive(Clone, Default)]
pub struct Graph {
    slots: Vec<Slot>,
    free: Vec<u32>,
    ends: Option<(NodeId, NodeId)>,
    len: usize,
    cursor: Cursor,
    /// The insertion points that come back when those now in force end, innermost last.
    outer_cursors: Vec<Cursor>,
    names: Arc<namer::Namer>,
    calls: Arc<find::Calls>,
    observers: observe::Observers,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// More than the index of any node.
    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The node of an id, unless it was erased or belongs to another graph.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        let slot = self.slots.get(id.index()).filter(|slot| slot.generation == id.generation)?;
        slot.node.as_deref()
    }

    /// The metadata of a node, for writing.
    pub fn meta_mut(&mut self, id: NodeId) -> Option<&mut Metadata> {
        self.node_mut(id).map(|node| &mut node.meta)
    }

    /// Whether the node is in this graph.
    pub fn contains(&self, id: NodeId) -> bool {
        self.get(id).is_some()
    }

    /// The nodes in order.
    pub fn nodes(&self) -> Nodes<'_> {
        Nodes { graph: self, ends: self.ends }
    }

    /// The ids of all nodes in order: a copy, so that the graph can be edited while iterating.
    pub fn node_ids(&self) -> Vec<NodeId> {
        self.nodes().map(|(id, _)| id).collect()
    }

    /// The node after this one.
    pub fn next(&self, id: NodeId) -> Option<NodeId> {
        self.get(id).and_then(|_| self.slots[id.index()].next)
    }

    /// The node before this one.
    pub fn prev(&self, id: NodeId) -> Option<NodeId> {
        self.get(id).and_then(|_| self.slots[id.index()].prev)
    }
}

#[track_caller]
fn missing(id: NodeId) -> ! {
    panic!("node {id} was erased or belongs to another graph")
}

impl Index<NodeId> for Graph {
    type Output = Node;

    /// # Panics
    /// If the node was erased or belongs to another graph.
    #[track_caller]
    fn index(&self, id: NodeId) -> &Node {
        match self.get(id) {
            Some(node) => node,
            None => missing(id),
        }
    }
}

/// The nodes of a graph in order.
#[derive(Clone)]
pub struct Nodes<'a> {
    graph: &'a Graph,
    ends: Option<(NodeId, NodeId)>,
}

impl<'a> Iterator for Nodes<'a> {
    type Item = (NodeId, &'a Node);

    fn next(&mut self) -> Option<Self::Item> {
        let (first, last) = self.ends?;
        self.ends = if first == last { None } else { self.graph.next(first).map(|next| (next, last)) };
        self.graph.get(first).map(|node| (first, node))
    }
}

impl DoubleEndedIterator for Nodes<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (first, last) = self.ends?;
        self.ends = if first == last { None } else { self.graph.prev(last).map(|prev| (first, prev)) };
        self.graph.get(last).map(|node| (last, node))
    }
}

/// Equal nodes in equal order: names, opcodes, targets, arguments, annotations. Metadata does not count, nor what the
/// text form does not show of an output: its name, target and annotation.
impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        let place = |graph: &Graph| -> std::collections::HashMap<NodeId, usize> {
            graph.nodes().enumerate().map(|(place, (id, _))| (id, place)).collect()
        };
        let (ours, theirs) = (place(self), place(other));
        let equal = |(_, a): (NodeId, &Node), (_, b): (NodeId, &Node)| {
            let output = a.op() == Opcode::Output;
            a.op() == b.op()
                && (output || (a.name(), a.target(), a.annotation()) == (b.name(), b.target(), b.annotation()))
                && a.args.len() == b.args.len()
                && a.args
                    .iter()
                    .zip(&b.args)
                    .all(|(x, y)| x.map(&mut |id| ours.get(id).copied()) == y.map(&mut |id| theirs.get(id).copied()))
                && a.kwargs.map(&mut |id| ours.get(id).copied()) == b.kwargs.map(&mut |id| theirs.get(id).copied())
        };
        self.len == other.len && self.nodes().zip(other.nodes()).all(|(a, b)| equal(a, b))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
