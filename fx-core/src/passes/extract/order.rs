//! The order of nodes and partitions: each after what it depends on, else as in the graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Partition;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::Effect;
use crate::passes::effect;

/// What keeps its place in the order as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Unit {
    Node(NodeId),
    Partition(usize),
}

/// Nodes, or groups of them.
pub(super) struct Units {
    /// The partition of each node that is in one.
    pub(super) owner: FxHashMap<NodeId, usize>,
}

impl Units {
    pub(super) fn new(module: &GraphModule, partitions: &[Partition]) -> Result<Self> {
        let (graph, mut owner) = (module.graph(), FxHashMap::default());
        let mut names: FxHashSet<&str> = module.state().modules.keys().map(String::as_str).collect();
        for (index, Partition { name, nodes }) in partitions.iter().enumerate() {
            let wrong = |message: String| Err(Error::new(ErrorKind::Graph, message));
            if !names.insert(name) {
                return wrong(format!("the name `{name}` of a partition is taken by another module"));
            }
            for id in nodes {
                let Some(node) = graph.get(*id) else { return wrong(format!("node {id} is not in the graph")) };
                if matches!(node.op(), Opcode::Placeholder | Opcode::GetAttr | Opcode::Output) {
                    return wrong(format!("%{} in partition `{name}` is no call", node.name()));
                }
                if owner.insert(*id, index).is_some() {
                    return wrong(format!("%{} is in two partitions", node.name()));
                }
            }
        }
        Ok(Self { owner })
    }

    fn of(&self, id: NodeId) -> Unit {
        self.owner.get(&id).map_or(Unit::Node(id), |index| Unit::Partition(*index))
    }

    /// Whether a node is used, and within partitions only.
    pub(super) fn only_inside(&self, graph: &Graph, id: NodeId) -> bool {
        graph[id].users().len() > 0 && graph[id].users().all(|user| self.owner.contains_key(&user))
    }

    /// The units in an order in which each comes after those that it depends on, else in that of their first nodes.
    pub(super) fn order(&self, module: &GraphModule, partitions: &[Partition]) -> Result<Vec<Unit>> {
        let graph = module.graph();
        let mut first: IndexSet<Unit> = IndexSet::new();
        first.extend(graph.nodes().map(|(id, _)| self.of(id)));
        let mut users: Vec<IndexSet<usize>> = vec![IndexSet::new(); first.len()];
        let mut waits = vec![0_usize; first.len()];
        for (input, id) in dependencies(module) {
            let places = first.get_index_of(&self.of(input)).zip(first.get_index_of(&self.of(id)));
            if let Some((before, after)) = places.filter(|(before, after)| before != after)
                && users[before].insert(after)
            {
                waits[after] += 1;
            }
        }
        let mut ready: BinaryHeap<_> = (0..first.len()).filter(|place| waits[*place] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(first.len());
        while let Some(Reverse(place)) = ready.pop() {
            order.push(first[place]);
            for &user in &users[place] {
                waits[user] -= 1;
                if waits[user] == 0 {
                    ready.push(Reverse(user));
                }
            }
        }
        if order.len() < first.len() {
            let name = |place: usize| match first[place] {
                Unit::Node(id) => format!("%{}", graph[id].name()),
                Unit::Partition(index) => partitions[index].name.clone(),
            };
            return Err(cycle(&users, &waits, name));
        }
        Ok(order)
    }
}

/// An error that shows a cycle among the units that still wait.
fn cycle(users: &[IndexSet<usize>], waits: &[usize], name: impl Fn(usize) -> String) -> Error {
    let waiting = |place: &usize| waits[*place] > 0;
    let mut before: FxHashMap<usize, usize> = FxHashMap::default();
    for place in (0..users.len()).filter(waiting) {
        before.extend(users[place].iter().filter(|user| waiting(user)).map(|user| (*user, place)));
    }
    // Whatever waits has something that waits before it, so going back meets a unit again.
    let mut path: Vec<usize> = before.keys().min().copied().into_iter().collect();
    while let Some(previous) = path.last().and_then(|place| before.get(place)).copied() {
        if let Some(start) = path.iter().position(|place| *place == previous) {
            path.drain(..start);
            path.push(previous);
            break;
        }
        path.push(previous);
    }
    let names: Vec<_> = path.into_iter().rev().map(name).collect();
    Error::new(ErrorKind::Graph, format!("a cycle exists between partitions: {}", names.join(" -> ")))
        .help("a node that lies between two nodes of a partition belongs to it")
}

/// Which node must come before which: inputs before users, and calls with an effect in their order.
pub(in crate::passes) fn dependencies(module: &GraphModule) -> Vec<(NodeId, NodeId)> {
    let (graph, state) = (module.graph(), module.state());
    let mut edges = Vec::new();
    let mut last = None;
    for (id, node) in graph.nodes() {
        edges.extend(node.inputs().into_iter().map(|input| (input, id)));
        let call = !matches!(node.op(), Opcode::Placeholder | Opcode::Output);
        if call && effect(state, node) != Effect::Pure {
            edges.extend(last.replace(id).map(|before| (before, id)));
        }
    }
    edges
}
