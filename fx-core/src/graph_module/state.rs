//! What a graph refers to by path.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::graph::{Graph, Node, NodeArg, Opcode, Owner};
use crate::module::{Buffer, Entry, Module, Parameter, StateDict, entries, is_copying};
use crate::tensor::{DType, Tensor, numel};

/// A map from paths, in the order of insertion.
pub type StateMap<T> = IndexMap<String, T, FxBuildHasher>;

/// Modules, parameters and buffers by path.
#[derive(Default)]
pub struct State {
    /// The modules that the graph calls.
    pub modules: StateMap<Arc<dyn Module>>,
    /// The parameters that the graph reads itself.
    pub parameters: StateMap<Parameter>,
    /// The buffers that the graph reads itself.
    pub buffers: StateMap<Buffer>,
}

impl Clone for State {
    /// The same state, shared; within [`deep_copy`](crate::module::deep_copy), a copy of it.
    fn clone(&self) -> Self {
        let mut modules = self.modules.clone();
        if is_copying() {
            modules.values_mut().for_each(|module| *module = module.share());
        }
        Self { modules, parameters: self.parameters.clone(), buffers: self.buffers.clone() }
    }
}

impl State {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything below a module, shared with it.
    pub fn of(root: &dyn Module) -> Self {
        let mut state = Self::new();
        for (path, entry) in entries(root) {
            match entry {
                Entry::Module(module) => drop(state.modules.insert(path, module.share())),
                Entry::Parameter(parameter) => drop(state.parameters.insert(path, parameter.clone())),
                Entry::Buffer(buffer) => drop(state.buffers.insert(path, buffer.clone())),
                Entry::Training(_) => {}
            }
        }
        state
    }

    /// The tensor of the parameter or buffer at `path`.
    pub fn tensor(&self, path: &str) -> Option<Tensor> {
        let parameter = self.parameters.get(path).map(Parameter::tensor);
        parameter.or_else(|| self.buffers.get(path).map(Buffer::tensor))
    }

    /// The module that a node calls.
    pub fn callee(&self, node: &Node) -> Option<&Arc<dyn Module>> {
        Some(&self.modules).filter(|_| node.op() == Opcode::CallModule)?.get(node.target().name())
    }

    /// The tensor that an argument reads, if it is a node that reads one.
    pub fn tensor_of(&self, graph: &Graph, arg: &NodeArg) -> Option<Tensor> {
        self.tensor(path_of(graph, arg)?)
    }

    /// What an argument reads, if it is a node that reads state. A buffer comes as a parameter of the same tensor.
    pub(crate) fn parameter_of(&self, graph: &Graph, arg: &NodeArg) -> Option<Parameter> {
        let path = path_of(graph, arg)?;
        let buffer = || self.buffers.get(path).map(|buffer| Parameter::new(buffer.tensor()));
        self.parameters.get(path).cloned().or_else(buffer)
    }

    /// The element type of what an argument reads, if it is a node that reads state. Nothing is made or read for it.
    pub(crate) fn dtype_of(&self, graph: &Graph, arg: &NodeArg) -> Option<DType> {
        let path = path_of(graph, arg)?;
        let parameter = self.parameters.get(path).map(Parameter::dtype);
        parameter.or_else(|| self.buffers.get(path).map(Buffer::dtype))
    }

    /// The paths of parameters and buffers that more than one use in the graph reads, or a module that it calls.
    pub fn shared_paths(&self, graph: &Graph) -> HashSet<String> {
        let mut uses: FxHashMap<&str, usize> = FxHashMap::default();
        for (_, node) in graph.nodes().filter(|(_, node)| node.op() == Opcode::GetAttr) {
            *uses.entry(node.target().name()).or_default() += node.users().len();
        }
        let attrs = uses.into_iter().filter(|(path, uses)| *uses > 1 || self.is_in_module(path));
        attrs.map(|(path, _)| path.to_owned()).collect()
    }

    /// The path itself, or with a number after it, so that nothing is there yet.
    pub fn free_path(&self, path: &str) -> String {
        let taken = |path: &str| self.has_module(path) || self.has_attr(path) || self.is_in_module(path);
        let mut free = path.to_owned();
        let mut count = 0;
        while taken(&free) {
            count += 1;
            free = format!("{path}_{count}");
        }
        free
    }

    /// Removes what is at a path or below it. Whether there was anything.
    pub fn remove_below(&mut self, path: &str) -> bool {
        let is_below =
            |have: &str| have.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let count = |state: &Self| state.modules.len() + state.parameters.len() + state.buffers.len();
        let before = count(self);
        self.modules.retain(|have, _| !is_below(have));
        self.parameters.retain(|have, _| !is_below(have));
        self.buffers.retain(|have, _| !is_below(have));
        count(self) != before
    }

    /// Whether a module above the path is there, which may have something of its own at it.
    fn is_in_module(&self, path: &str) -> bool {
        path.match_indices('.').any(|(end, _)| self.has_module(&path[..end]))
    }

    /// Keeps what the graph refers to.
    pub fn retain_used(&mut self, graph: &Graph) {
        let paths = |op| -> FxHashSet<&str> {
            graph.nodes().filter(|(_, node)| node.op() == op).map(|(_, node)| node.target().name()).collect()
        };
        let (modules, attrs) = (paths(Opcode::CallModule), paths(Opcode::GetAttr));
        self.modules.retain(|path, _| modules.contains(path.as_str()));
        self.parameters.retain(|path, _| attrs.contains(path.as_str()));
        self.buffers.retain(|path, _| attrs.contains(path.as_str()));
    }

    /// What a graph refers to. The cost grows with that, not with all there is.
    pub fn used_by(&self, graph: &Graph) -> Self {
        let mut used = Self::new();
        for (_, node) in graph.nodes() {
            let path = node.target().name();
            match node.op() {
                Opcode::CallModule => used.modules.extend(entry(&self.modules, path)),
                Opcode::GetAttr => {
                    used.parameters.extend(entry(&self.parameters, path));
                    used.buffers.extend(entry(&self.buffers, path));
                }
                _ => {}
            }
        }
        used
    }

    /// The bytes of all parameters and buffers, those of modules too.
    pub fn bytes(&self) -> usize {
        let bytes = |shape: Vec<usize>, dtype: DType| numel(&shape) * dtype.size();
        let of = |parameter: &Parameter| bytes(parameter.shape(), parameter.dtype());
        let below = self.modules.values().flat_map(|module| entries(&**module)).map(|(_, entry)| match entry {
            Entry::Parameter(parameter) => of(parameter),
            Entry::Buffer(buffer) => bytes(buffer.shape(), buffer.dtype()),
            _ => 0,
        });
        let buffers = self.buffers.values().map(|buffer| bytes(buffer.shape(), buffer.dtype()));
        below.chain(self.parameters.values().map(of)).chain(buffers).sum()
    }

    /// All parameters and buffers, those of modules too, by path.
    pub fn state_dict(&self) -> StateDict {
        let mut dict = StateDict::new();
        for (path, module) in &self.modules {
            for (below, entry) in entries(&**module) {
                let tensor = match entry {
                    Entry::Parameter(parameter) => parameter.tensor(),
                    Entry::Buffer(buffer) => buffer.tensor(),
                    _ => continue,
                };
                dict.insert(format!("{path}.{below}"), tensor);
            }
        }
        dict.extend(self.parameters.iter().map(|(path, parameter)| (path.clone(), parameter.tensor())));
        dict.extend(self.buffers.iter().map(|(path, buffer)| (path.clone(), buffer.tensor())));
        dict
    }
}

/// The path that an argument reads, if it is a node that reads state.
fn path_of<'a>(graph: &'a Graph, arg: &NodeArg) -> Option<&'a str> {
    let node = graph.get(*arg.as_value()?).filter(|node| node.op() == Opcode::GetAttr)?;
    Some(node.target().name())
}

fn entry<T: Clone>(map: &StateMap<T>, path: &str) -> Option<(String, T)> {
    map.get_key_value(path).map(|(path, value)| (path.clone(), value.clone()))
}

impl Owner for State {
    fn has_module(&self, path: &str) -> bool {
        self.modules.contains_key(path)
    }

    fn has_attr(&self, path: &str) -> bool {
        self.parameters.contains_key(path) || self.buffers.contains_key(path)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.modules.iter().map(|(path, module)| (path, module.repr())))
            .entries(self.parameters.iter().map(|(path, parameter)| (path, format!("{parameter:?}"))))
            .entries(self.buffers.iter().map(|(path, buffer)| (path, format!("{buffer:?}"))))
            .finish()
    }
}
