//! A piece of a program, a graph with its state, and putting it into another graph.

use rustc_hash::FxHashMap;

use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, ModuleStack, NodeArg, NodeId, NodeMap, Opcode};
use crate::graph_module::{GraphModule, State};

/// A graph with the state that it refers to, as a pattern or what takes its place.
///
/// A graph without state refers to that of the module that it is used on.
#[derive(Clone, Default)]
pub struct Part {
    pub(crate) graph: Graph,
    pub(crate) state: State,
}

impl Part {
    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl From<Graph> for Part {
    fn from(graph: Graph) -> Self {
        Self { graph, state: State::new() }
    }
}

impl From<GraphModule> for Part {
    fn from(module: GraphModule) -> Self {
        Self::from(&module)
    }
}

impl From<&GraphModule> for Part {
    fn from(module: &GraphModule) -> Self {
        Self { graph: module.graph().clone(), state: module.state().clone() }
    }
}

impl From<&Part> for Part {
    fn from(part: &Part) -> Self {
        part.clone()
    }
}

/// Puts parts into a graph. What is put in twice shares its state.
#[derive(Default)]
pub(crate) struct Splicer {
    paths: FxHashMap<(usize, String), String>,
}

impl Splicer {
    /// Copies a part after `place`, its inputs replaced as `map` says. The copy belongs to the module call that `place`
    /// belongs to. Gives the part's output, and the new nodes in order.
    pub(crate) fn splice(
        &mut self,
        graph: &mut Graph,
        state: &mut State,
        part: &Part,
        mut map: NodeMap,
        place: NodeId,
    ) -> Result<(NodeArg, Vec<NodeId>)> {
        let stack = graph[place].meta().get::<ModuleStack>().cloned().unwrap_or_default();
        let location = graph[place].meta().location().cloned();
        let given: Vec<NodeId> = map.keys().copied().collect();
        let output = graph.inserting_after(place, |graph| graph.graph_copy(&part.graph, &mut map))?;
        let mut copies = Vec::new();
        for (id, node) in part.graph.nodes().filter(|(id, _)| !given.contains(id)) {
            let Some(copy) = map.get(&id).and_then(NodeArg::as_value).copied() else { continue };
            copies.push(copy);
            if let Opcode::GetAttr | Opcode::CallModule = node.op() {
                let path = self.adopt(state, &part.state, node.op(), node.target().name());
                graph.set_call(copy, node.op(), path);
            }
            if let Some(meta) = graph.meta_mut(copy) {
                meta.insert(stack.clone());
                if let (None, Some(location)) = (meta.location(), &location) {
                    meta.insert(location.clone());
                }
            }
        }
        Ok((output.unwrap_or(Arg::None), copies))
    }

    /// The path at which `state` has what `from` has at a path; it is added if it is not there.
    fn adopt(&mut self, state: &mut State, from: &State, op: Opcode, path: &str) -> String {
        let (module, parameter, buffer) = match op {
            Opcode::CallModule => (from.modules.get(path), None, None),
            _ => (None, from.parameters.get(path), from.buffers.get(path)),
        };
        let id = match (module, parameter, buffer) {
            (Some(module), ..) => std::sync::Arc::as_ptr(module).cast::<()>().addr(),
            (_, Some(parameter), _) => parameter.id(),
            (.., Some(buffer)) => buffer.id(),
            _ => return path.to_owned(),
        };
        let known = |state: &State| {
            let parameters = state.parameters.iter().find(|(_, have)| parameter.is_some() && have.id() == id);
            let buffers = state.buffers.iter().find(|(_, have)| buffer.is_some() && have.id() == id);
            let same = |have: &std::sync::Arc<_>| module.is_some_and(|module| std::sync::Arc::ptr_eq(module, have));
            let modules = state.modules.iter().find(|(_, have)| same(have));
            let found = modules.map(|(path, _)| path).or(parameters.map(|(path, _)| path));
            found.or(buffers.map(|(path, _)| path)).cloned()
        };
        let key = (id, path.to_owned());
        if let Some(path) = self.paths.get(&key) {
            return path.clone();
        }
        let new = known(state).unwrap_or_else(|| {
            let new = state.free_path(path);
            if let Some(module) = module {
                state.modules.insert(new.clone(), module.clone());
            } else if let Some(parameter) = parameter {
                state.parameters.insert(new.clone(), parameter.clone());
            } else if let Some(buffer) = buffer {
                state.buffers.insert(new.clone(), buffer.clone());
            }
            new
        });
        self.paths.insert(key, new.clone());
        new
    }
}
