//! Making one graph of a model that calls captured models: the inverse of every split.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, NodeMap, Opcode, mapped};
use crate::graph_module::{GraphModule, State, StateMap};
use crate::module::join;
use crate::ops;

/// The model with the graphs of the captured models that it calls, at any depth, in place of the calls.
///
/// State keeps the path that it has within its model where nothing else is at that path; else the path of the call comes
/// before it. Elements of what a model gives as a tuple are used directly.
///
/// # Errors
/// If a call does not fit the inputs of the model that it calls.
pub fn inline_submodules(module: &GraphModule) -> Result<GraphModule> {
    let mut flat = Flat { graph: Graph::new(), state: module.state().clone(), reads: FxHashMap::default() };
    flat.state.modules.retain(|_, module| module.as_graph_module().is_none());
    let output = flat.copy(module, "", Vec::new())?;
    if let Some(id) = module.graph().output_node() {
        let copy = flat.graph.output(output);
        if let Some(meta) = flat.graph.meta_mut(copy) {
            *meta = module.graph()[id].meta().clone();
        }
    }
    GraphModule::with_state(flat.graph, flat.state, module.class_name())
}

struct Flat {
    graph: Graph,
    state: State,
    /// The node that reads each parameter or buffer.
    reads: FxHashMap<String, NodeId>,
}

impl Flat {
    /// Copies a model that is called at `prefix` with `args`; the root has none, and its inputs are copied. Gives its output.
    fn copy(&mut self, module: &GraphModule, prefix: &str, args: Vec<NodeArg>) -> Result<NodeArg> {
        let graph = module.graph();
        let mut map: NodeMap = graph.placeholders().into_iter().zip(args).collect();
        for (id, node) in graph.nodes() {
            let fetch = |arg: &NodeArg| arg.try_flat_map(&mut |id| mapped(graph, &map, *id));
            let value = match node.op() {
                Opcode::Output => return node.args().first().map_or(Ok(Arg::None), fetch),
                Opcode::Placeholder if map.contains_key(&id) => continue,
                _ => match (called(module, node), element(graph, id, &map)) {
                    (Some(inner), _) => {
                        let given = node.args().iter().map(fetch).collect::<Result<Vec<_>>>()?;
                        let kwargs = node.kwargs().try_flat_map(&mut |id| mapped(graph, &map, *id))?;
                        let given = inner.bind(given, &kwargs)?;
                        self.copy(inner, &join(prefix, node.target().name()), given)?
                    }
                    (None, Some(element)) => element,
                    (None, None) => Arg::Value(self.node(module, prefix, id, &map)?),
                },
            };
            map.insert(id, value);
        }
        Ok(Arg::None)
    }

    /// Copies a node, with the state that it refers to. What is read already is not read again.
    fn node(&mut self, module: &GraphModule, prefix: &str, id: NodeId, map: &NodeMap) -> Result<NodeId> {
        let graph = module.graph();
        let place = self.place(module, prefix, &graph[id]);
        let read = Some(&place).filter(|_| graph[id].op() == Opcode::GetAttr);
        if let Some(read) = read.and_then(|path| self.reads.get(path)) {
            return Ok(*read);
        }
        let copy = self.graph.node_copy(graph, id, &mut |id| mapped(graph, map, id))?;
        match graph[id].op() {
            Opcode::GetAttr => {
                self.graph.set_call(copy, Opcode::GetAttr, &place);
                self.reads.insert(place, copy);
            }
            Opcode::CallModule => self.graph.set_call(copy, Opcode::CallModule, place),
            _ => {}
        }
        Ok(copy)
    }

    /// The path of what a node refers to, which is put there.
    fn place(&mut self, module: &GraphModule, prefix: &str, node: &Node) -> String {
        let (state, path) = (module.state(), node.target().name());
        match node.op() {
            Opcode::CallModule => place(&mut self.state.modules, prefix, path, state.modules.get(path), Arc::ptr_eq),
            Opcode::GetAttr if state.parameters.contains_key(path) => {
                let parameter = state.parameters.get(path);
                place(&mut self.state.parameters, prefix, path, parameter, |a, b| a.id() == b.id())
            }
            Opcode::GetAttr => {
                place(&mut self.state.buffers, prefix, path, state.buffers.get(path), |a, b| a.id() == b.id())
            }
            _ => path.to_owned(),
        }
    }
}

/// The captured model that a node calls.
fn called<'a>(module: &'a GraphModule, node: &Node) -> Option<&'a GraphModule> {
    let modules = Some(&module.state().modules).filter(|_| node.op() == Opcode::CallModule)?;
    modules.get(node.target().name())?.as_graph_module()
}

/// Where an entry goes: its own path if it is there or nothing is, else the path below `prefix`, with a number if that
/// is taken too.
fn place<T: Clone>(
    entries: &mut StateMap<T>,
    prefix: &str,
    path: &str,
    entry: Option<&T>,
    same: impl Fn(&T, &T) -> bool,
) -> String {
    let Some(entry) = entry else { return path.to_owned() };
    let full = join(prefix, path);
    let numbered = (1..).map(|i| format!("{full}_{i}"));
    let mut candidates = [path.to_owned(), full.clone()].into_iter().chain(numbered);
    let free = candidates.find(|path| entries.get(path).is_none_or(|have| same(have, entry)));
    let free = free.unwrap_or(full);
    entries.entry(free.clone()).or_insert_with(|| entry.clone());
    free
}

/// What a `getitem` takes out of a structure whose elements are known.
fn element(graph: &Graph, id: NodeId, map: &NodeMap) -> Option<NodeArg> {
    let node = &graph[id];
    match node.args() {
        [Arg::Value(input), Arg::Int(index)] if node.function() == Some(ops::getitem) => {
            let items = map.get(input)?.as_items()?;
            // Another number of elements than the program takes stays for a run to report.
            if matches!(node.kwargs().get("count"), Some(Arg::Int(count)) if *count != items.len() as i64) {
                return None;
            }
            let index = if *index < 0 { index + items.len() as i64 } else { *index };
            items.get(usize::try_from(index).ok()?).cloned()
        }
        _ => None,
    }
}
