//! Functions become the calls of modules that they came from: the inverse of `decompose_modules`.

use super::{Part, Pattern, as_one};
use crate::arg::Kwargs;
use crate::error::Result;
use crate::graph::{Graph, NodeArg, Opcode};
use crate::graph_module::{GraphModule, State};
use crate::module::{Entry, Module, entries, join};
use crate::trace::{Leaves, trace_call};

/// Replaces functions of the parameters of a leaf module of `root` by a call of that module, where they are what its
/// `forward` does now. Modules without state, and those whose state has changed, stay functions. Gives how many calls
/// there are.
///
/// # Errors
/// None that a graph in order can give.
pub fn compose_modules(module: &mut GraphModule, root: &dyn Module) -> Result<usize> {
    as_one(module, |module| {
        let mut count = 0;
        for (path, entry) in entries(root) {
            let Entry::Module(leaf) = entry else { continue };
            if !leaf.is_leaf() || !has_same_state(module.state(), leaf, &path) {
                continue;
            }
            for inputs in 1..=leaf.signature().inputs.len() {
                let Some(body) = body(leaf, &path, inputs) else { continue };
                let Ok(pattern) = Pattern::new(body) else { continue };
                count += pattern.same_paths().replace(module, call(leaf, &path, inputs))?.len();
            }
        }
        Ok(count)
    })
}

/// Whether the leaf has parameters or buffers, and those that the module has at their paths are the same.
fn has_same_state(state: &State, leaf: &dyn Module, path: &str) -> bool {
    let mut found = false;
    let same = entries(leaf).into_iter().all(|(below, entry)| {
        let path = join(path, &below);
        let (have, wanted) = match entry {
            Entry::Parameter(parameter) => (state.parameters.get(&path).map(|have| have.id()), parameter.id()),
            Entry::Buffer(buffer) => (state.buffers.get(&path).map(|have| have.id()), buffer.id()),
            _ => return true,
        };
        found |= have.is_some();
        have.is_none_or(|have| have == wanted)
    });
    same && found
}

/// What the `forward` of the leaf does with its first inputs, with the paths of its state in the root.
fn body(leaf: &dyn Module, path: &str, inputs: usize) -> Option<Part> {
    let args = inputs_of(&mut Graph::new(), inputs);
    let (body, _) = trace_call(Leaves::None, leaf, &args, &Kwargs::new()).ok()?;
    let mut graph = body.graph().clone();
    for read in graph.find_all(Opcode::GetAttr) {
        let full = join(path, graph[read].target().name());
        graph.set_call(read, Opcode::GetAttr, full);
    }
    Some(Part::from(graph))
}

fn call(leaf: &dyn Module, path: &str, inputs: usize) -> Part {
    let (mut graph, mut state) = (Graph::new(), State::new());
    let args = inputs_of(&mut graph, inputs);
    let call = graph.call_module(path, args);
    graph.output(call);
    state.modules.insert(path.to_owned(), leaf.share());
    Part { graph, state }
}

fn inputs_of(graph: &mut Graph, count: usize) -> Vec<NodeArg> {
    (0..count).map(|_| graph.placeholder("input").into()).collect()
}
