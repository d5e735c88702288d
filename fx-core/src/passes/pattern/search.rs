//! The search for a pattern: from its outputs backwards, with choices that are taken back where they fail.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Match, Pattern};
use crate::arg::{Arg, Kwargs};
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::State;
use crate::module::{Entry, Module, entries};
use crate::ops::{self, Function};
use crate::trace::{Leaves, trace_call};

/// Functions whose operands can change places.
const SYMMETRIC: [Function; 11] = [
    ops::add,
    ops::mul,
    ops::maximum,
    ops::minimum,
    ops::eq,
    ops::ne,
    ops::bitwise_and,
    ops::bitwise_or,
    ops::bitwise_xor,
    ops::logical_and,
    ops::logical_or,
];

/// How many ways to match are tried at one place: orders of operands multiply.
const TRIALS: usize = 10_000;

/// A call of a module without state as the call of a function that it is.
type Spelled = FxHashMap<NodeId, (Function, Vec<NodeArg>, Kwargs<NodeId>)>;

pub(super) struct Search<'a> {
    pattern: &'a Pattern,
    graph: &'a Graph,
    state: &'a State,
    /// The calls of modules that are calls of functions, in the pattern and in the graph.
    spelled: [Spelled; 2],
    taken: FxHashSet<NodeId>,
}

/// What is bound so far, and what must match still.
#[derive(Clone, Default)]
struct Trial {
    bindings: IndexMap<NodeId, NodeArg>,
    pending: Vec<(NodeArg, NodeArg)>,
}

impl<'a> Search<'a> {
    pub(super) fn new(pattern: &'a Pattern, graph: &'a Graph, state: &'a State) -> Self {
        let spelled = |graph: &Graph, state: &State| match pattern.any_spelling {
            true => graph.nodes().filter_map(|(id, node)| Some((id, as_function(state, node)?))).collect(),
            false => Spelled::default(),
        };
        let spelled = [spelled(&pattern.part.graph, &pattern.part.state), spelled(graph, state)];
        Self { pattern, graph, state, spelled, taken: FxHashSet::default() }
    }

    pub(super) fn all(mut self) -> Vec<Match> {
        let mut matches = Vec::new();
        let first = self.pattern.outputs[0];
        for (anchor, node) in self.graph.nodes() {
            if !self.is_same_call(first, &self.pattern.part.graph[first], anchor, node) {
                continue;
            }
            let Some(bindings) = self.search(first, anchor) else { continue };
            let name = |id: &NodeId| self.pattern.part.graph[*id].name().to_owned();
            let nodes = bindings.iter().map(|(id, arg)| (name(id), arg.clone())).collect();
            let found = Match { anchor, nodes, replacements: Vec::new(), bindings };
            if self.pattern.filter.as_ref().is_none_or(|filter| filter(self.graph, &found)) {
                let matched: Vec<_> = self.matched(&found.bindings).map(|(_, id)| id).collect();
                self.taken.extend(matched.into_iter().filter(|id| self.graph[*id].op() != Opcode::GetAttr));
                matches.push(found);
            }
        }
        matches
    }

    fn search(&self, first: NodeId, anchor: NodeId) -> Option<IndexMap<NodeId, NodeArg>> {
        let start = Trial { bindings: IndexMap::new(), pending: vec![(first.into(), anchor.into())] };
        let mut choices = vec![start];
        for _ in 0..TRIALS {
            let mut trial = choices.pop()?;
            if self.follow(&mut trial, &mut choices) && self.can_be_replaced(&trial.bindings) {
                return Some(trial.bindings);
            }
        }
        None
    }

    /// Follows a trial to its end. Whether all of the pattern is bound; other ways to go on are added to the choices.
    fn follow(&self, trial: &mut Trial, choices: &mut Vec<Trial>) -> bool {
        while let Some((wanted, found)) = trial.pending.pop() {
            if !self.unify(&wanted, &found, trial, choices) {
                return false;
            }
        }
        let pattern = &self.pattern.part.graph;
        let Some(output) = self.pattern.outputs.iter().find(|id| !trial.bindings.contains_key(*id)) else {
            return true;
        };
        for (id, node) in self.graph.nodes().rev() {
            if self.is_same_call(*output, &pattern[*output], id, node) {
                let pending = vec![((*output).into(), id.into())];
                choices.push(Trial { bindings: trial.bindings.clone(), pending });
            }
        }
        false
    }

    fn unify(&self, wanted: &NodeArg, found: &NodeArg, trial: &mut Trial, choices: &mut Vec<Trial>) -> bool {
        match (wanted, found) {
            (Arg::Value(wanted), found) => self.bind(*wanted, found, trial, choices),
            (Arg::List(a) | Arg::Tuple(a), Arg::List(b) | Arg::Tuple(b)) => pair(a, b, trial),
            (Arg::Slice(a), Arg::Slice(b)) => pair(&**a, &**b, trial),
            (Arg::Dict(a), Arg::Dict(b)) => pair_entries(a, b, trial),
            (_, Arg::Value(_)) => false,
            (wanted, found) => self.pattern.ignore_literals || is_equal(wanted, found),
        }
    }

    fn bind(&self, wanted: NodeId, found: &NodeArg, trial: &mut Trial, choices: &mut Vec<Trial>) -> bool {
        if let Some(bound) = trial.bindings.get(&wanted) {
            return bound == found;
        }
        let node = &self.pattern.part.graph[wanted];
        if node.op() == Opcode::Placeholder {
            trial.bindings.insert(wanted, found.clone());
            return true;
        }
        let Arg::Value(id) = found else { return false };
        let taken = self.taken.contains(id) || self.matched(&trial.bindings).any(|(_, other)| other == *id);
        if taken || !self.is_same_call(wanted, node, *id, &self.graph[*id]) {
            return false;
        }
        trial.bindings.insert(wanted, found.clone());
        let (args, kwargs) = arguments(&self.spelled[0], wanted, node);
        let (other_args, other_kwargs) = arguments(&self.spelled[1], *id, &self.graph[*id]);
        if !pair_entries(kwargs, other_kwargs, trial) {
            return false;
        }
        let symmetric = self.function(0, wanted, node).is_some_and(|function| SYMMETRIC.contains(&function));
        if let ([a, b], true, true) = (args, symmetric, self.pattern.commutative) {
            let mut swapped = trial.clone();
            if pair(&[b.clone(), a.clone()], other_args, &mut swapped) {
                choices.push(swapped);
            }
        }
        pair(args, other_args, trial)
    }

    /// The function that a node calls, in the pattern (0) or in the graph (1).
    fn function(&self, side: usize, id: NodeId, node: &Node) -> Option<Function> {
        self.spelled[side].get(&id).map(|(function, ..)| *function).or_else(|| node.function())
    }

    fn is_same_call(&self, wanted: NodeId, node: &Node, found: NodeId, other: &Node) -> bool {
        if self.pattern.any_spelling {
            let functions = (self.function(0, wanted, node), self.function(1, found, other));
            if let (Some(a), Some(b)) = functions {
                return a == b;
            }
        }
        if node.op() != other.op() {
            return false;
        }
        match node.op() {
            Opcode::GetAttr if !self.pattern.same_paths => true,
            Opcode::CallModule if !self.pattern.same_paths => {
                match (self.pattern.part.state.callee(node), self.state.callee(other)) {
                    (Some(a), Some(b)) => is_like(&**a, &**b),
                    _ => node.target() == other.target(),
                }
            }
            _ => node.target() == other.target(),
        }
    }

    /// The nodes that the pattern's nodes, other than its inputs, stand for.
    fn matched(&self, bindings: &IndexMap<NodeId, NodeArg>) -> impl Iterator<Item = (NodeId, NodeId)> {
        let pattern = &self.pattern.part.graph;
        let nodes = bindings.iter().filter(|(id, _)| pattern[**id].op() != Opcode::Placeholder);
        nodes.filter_map(|(id, arg)| Some((*id, *arg.as_value()?)))
    }

    /// Whether nothing outside uses what would go, and nothing outside lies between what matches.
    fn can_be_replaced(&self, bindings: &IndexMap<NodeId, NodeArg>) -> bool {
        let matched: IndexMap<NodeId, NodeId> = self.matched(bindings).map(|(id, node)| (node, id)).collect();
        let Some(last) = self.graph.last_of(matched.keys().copied()) else { return true };
        let mut outside = Vec::new();
        for (node, wanted) in &matched {
            if self.graph[*node].op() == Opcode::GetAttr {
                continue;
            }
            let users = self.graph[*node].users().filter(|user| !matched.contains_key(user));
            let before = outside.len();
            outside.extend(users);
            if outside.len() > before && !self.pattern.outputs.contains(wanted) {
                return false;
            }
        }
        let mut seen = FxHashSet::default();
        while let Some(id) = outside.pop() {
            if matched.contains_key(&id) {
                return false;
            }
            if self.graph.comes_before(id, last) && seen.insert(id) {
                outside.extend(self.graph[id].users());
            }
        }
        true
    }
}

/// The arguments of a node, or of the function that it is.
fn arguments<'a>(spelled: &'a Spelled, id: NodeId, node: &'a Node) -> (&'a [NodeArg], &'a Kwargs<NodeId>) {
    match spelled.get(&id) {
        Some((_, args, kwargs)) => (args, kwargs),
        None => (node.args(), node.kwargs()),
    }
}

fn pair(wanted: &[NodeArg], found: &[NodeArg], trial: &mut Trial) -> bool {
    trial.pending.extend(wanted.iter().cloned().zip(found.iter().cloned()).rev());
    wanted.len() == found.len()
}

fn pair_entries(wanted: &Kwargs<NodeId>, found: &Kwargs<NodeId>, trial: &mut Trial) -> bool {
    wanted.len() == found.len()
        && wanted.iter().all(|(key, arg)| match found.get(key) {
            Some(other) => {
                trial.pending.push((arg.clone(), other.clone()));
                true
            }
            None => false,
        })
}

/// Whether two literals are equal as in Python.
fn is_equal(a: &NodeArg, b: &NodeArg) -> bool {
    a == b || a.as_float().is_some_and(|x| b.as_float() == Some(x))
}

/// Whether two modules have the same type and attributes.
fn is_like(a: &dyn Module, b: &dyn Module) -> bool {
    std::any::Any::type_id(a) == std::any::Any::type_id(b) && a.repr_arguments() == b.repr_arguments()
}

/// The call of a function that a call of a module without state is.
fn as_function(state: &State, node: &Node) -> Option<(Function, Vec<NodeArg>, Kwargs<NodeId>)> {
    let module = state.callee(node)?;
    if entries(&**module).iter().any(|(_, entry)| !matches!(entry, Entry::Training(_))) {
        return None;
    }
    let (body, inputs) = trace_call(Leaves::None, &**module, node.args(), node.kwargs()).ok()?;
    let graph = body.graph();
    let places: FxHashMap<NodeId, NodeId> =
        graph.placeholders().into_iter().zip(inputs.iter().filter_map(|input| input.as_value().copied())).collect();
    single_call(graph, &places)
}

/// The only call of a graph, in terms of what its inputs stand for.
fn single_call(graph: &Graph, places: &FxHashMap<NodeId, NodeId>) -> Option<(Function, Vec<NodeArg>, Kwargs<NodeId>)> {
    let mut calls = graph.nodes().filter(|(_, node)| !matches!(node.op(), Opcode::Placeholder | Opcode::Output));
    let (_, node) = calls.next().filter(|(id, _)| graph.output_arg() == Some(&NodeArg::Value(*id)))?;
    let mut outer = |id: &NodeId| places.get(id).copied().ok_or(());
    let args = node.args().iter().map(|arg| arg.try_map(&mut outer)).collect::<Result<_, _>>().ok()?;
    let kwargs = node.kwargs().try_map(&mut outer).ok()?;
    calls.next().is_none().then_some((node.function()?, args, kwargs))
}
