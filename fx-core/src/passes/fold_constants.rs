//! What does not depend on the inputs is computed once.

use rustc_hash::FxHashSet;

use super::effect;
use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, NodeArg, NodeId, NodeMap, Opcode};
use crate::graph_module::{GraphModule, State};
use crate::interpreter::Interpreter;
use crate::module::Buffer;
use crate::ops::{Effect, is_view};
use crate::tensor::Tensor;
use crate::value::Meta;

/// The constant part of a module, split off: run it again when parameters have changed.
pub struct Constants {
    /// A graph without inputs that gives the list of the constants.
    pub module: GraphModule,
    /// The paths of the buffers that hold them, in the order of the tensors.
    pub paths: Vec<String>,
}

impl Constants {
    /// Computes the constants anew, and sets the buffers of the module that they were split from.
    ///
    /// # Errors
    /// If a constant cannot be computed, or has another shape than before.
    pub fn update(&self, module: &GraphModule) -> Result<()> {
        let mut tensors = Vec::new();
        self.module.run(Vec::new())?.for_each(&mut |tensor: &Tensor| tensors.push(tensor.clone()));
        for (path, tensor) in self.paths.iter().zip(tensors) {
            if let Some(buffer) = module.state().buffers.get(path) {
                buffer.set(tensor)?;
            }
        }
        Ok(())
    }
}

/// Replaces what does not depend on the inputs by buffers with its values. Random calls, and what they give, stay. Gives
/// how many calls went.
///
/// # Errors
/// If a constant cannot be computed.
pub fn fold_constants(module: &mut GraphModule) -> Result<usize> {
    fold_if(module, |_, _| true, |_| Ok(true))
}

/// As [`fold_constants`], and gives the constant part; None if there is none.
///
/// # Errors
/// As [`fold_constants`].
pub fn split_constants(module: &mut GraphModule) -> Result<Option<Constants>> {
    split_if(module, |_, _| true, |_| Ok(true))
}

/// As [`fold_constants`], but leaves views of state, which take no time and for which the state is not read, and folds
/// nothing if the constants take more than `limit` bytes beyond those of the state that they are computed from.
///
/// # Errors
/// As [`fold_constants`].
pub fn fold_constants_within(module: &mut GraphModule, limit: usize) -> Result<usize> {
    let costs_time = |graph: &Graph, id| !is_view_of_state(graph, id);
    fold_if(module, costs_time, |part| {
        let read = part.state().bytes();
        let mut written = 0_usize;
        Interpreter::<Meta>::new(part).run(Vec::new())?.for_each(&mut |meta| {
            written = written.saturating_add(match meta {
                Meta::Tensor(tensor) => tensor.bytes().unwrap_or(usize::MAX),
                Meta::Int(_) => 0,
                Meta::Unknown => usize::MAX,
            });
        });
        Ok(written <= read + limit)
    })
}

/// Whether a call gives a view of a parameter or buffer.
fn is_view_of_state(graph: &Graph, id: NodeId) -> bool {
    let node = &graph[id];
    let of_state = |from: &NodeId| graph[*from].op() == Opcode::GetAttr || is_view_of_state(graph, *from);
    node.function().is_some_and(is_view) && node.args().first().and_then(Arg::as_value).is_some_and(of_state)
}

/// Splits the constant part off as [`split_if`], and counts the calls that went. Reads come and go.
fn fold_if(
    module: &mut GraphModule,
    is_wanted: impl Fn(&Graph, NodeId) -> bool,
    accept: impl FnOnce(&GraphModule) -> Result<bool>,
) -> Result<usize> {
    let calls = |module: &GraphModule| module.graph().nodes().filter(|(_, node)| node.op() != Opcode::GetAttr).count();
    let before = calls(module);
    split_if(module, is_wanted, accept)?;
    Ok(before - calls(module))
}

/// Splits the constants that are wanted off, with all that they are computed from, if `accept` accepts that part.
fn split_if(
    module: &mut GraphModule,
    is_wanted: impl Fn(&Graph, NodeId) -> bool,
    accept: impl FnOnce(&GraphModule) -> Result<bool>,
) -> Result<Option<Constants>> {
    module.edit_with_state(|graph, state| {
        let constants = constant_nodes(graph, state);
        let is_call = |id: &NodeId| graph[*id].op() != Opcode::GetAttr && is_wanted(graph, *id);
        let is_needed = |id: &NodeId| graph[*id].users().any(|user| !constants.contains(&user));
        let order: Vec<_> = graph.node_ids().into_iter().filter(|id| constants.contains(id)).collect();
        let results: Vec<_> = order.iter().copied().filter(|id| is_call(id) && is_needed(id)).collect();
        if results.is_empty() {
            return Ok(None);
        }
        let part = constant_part(graph, state, &order, &results)?;
        if !accept(&part)? {
            return Ok(None);
        }
        // Not by a plan: making one folds constants.
        let values = Interpreter::<Tensor>::new(&part).run(Vec::new())?;
        let mut paths = Vec::new();
        for (id, value) in results.iter().zip(values.as_items().unwrap_or_default()) {
            let buffer = |tensor: &Tensor| {
                let path = state.free_path("_folded_constant");
                state.buffers.insert(path.clone(), Buffer::new(tensor.clone()));
                paths.push(path.clone());
                graph.inserting_before(*id, |graph| graph.get_attr(&path))
            };
            let value: NodeArg = value.map(&mut { buffer });
            graph.replace_all_uses_with_arg(*id, &value);
        }
        graph.erase_unused(order);
        state.retain_used(graph);
        Ok(Some(Constants { module: part, paths }))
    })
}

/// The reads, and the calls without effects that depend only on such nodes.
fn constant_nodes(graph: &Graph, state: &State) -> FxHashSet<NodeId> {
    let mut constants = FxHashSet::default();
    for (id, node) in graph.nodes() {
        let is_constant = match node.op() {
            Opcode::Placeholder | Opcode::Output => false,
            Opcode::GetAttr => true,
            _ => node.inputs().iter().all(|input| constants.contains(input)) && effect(state, node) == Effect::Pure,
        };
        if is_constant {
            constants.insert(id);
        }
    }
    constants
}

/// A module of the constant nodes alone.
fn constant_part(graph: &Graph, state: &State, order: &[NodeId], results: &[NodeId]) -> Result<GraphModule> {
    let mut part = Graph::new();
    let mut map = NodeMap::new();
    for id in order {
        let copy = part.node_copy(graph, *id, &mut |input| Ok(map[&input].clone()))?;
        map.insert(*id, copy.into());
    }
    part.output(Arg::List(results.iter().map(|id| map[id].clone()).collect()));
    let reads = part.node_ids();
    part.erase_unused(reads.into_iter().filter(|id| part[*id].op() != Opcode::Output).collect::<Vec<_>>());
    GraphModule::with_state(part, state.clone(), "Constants")
}
