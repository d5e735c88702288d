//! Moving groups of nodes into modules of their own: what every way to split a graph comes down to.
//!
//! A group becomes a captured model with an input for each value from outside, in the order of first use, and an output
//! for each value that is used outside. The parameters and buffers that its nodes read go with it, under the paths that
//! they had. In the graph one `call_module` stands for it, with a `getitem` for each output if there are several.
//! Everything else stays; the order changes only where a group must come before its users.

mod order;

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxHashSet;

use crate::arg::{Arg, Kwargs};
use crate::codegen;
use crate::error::Result;
use crate::graph::{Graph, NodeArg, NodeId, NodeMap, Opcode, mapped};
use crate::graph_module::GraphModule;
use crate::ops;
use crate::value::{Dim, Meta};
pub(super) use order::dependencies;
use order::{Unit, Units};

/// Nodes that go into one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The path of the module.
    pub name: String,
    /// Its nodes, in the order of the graph; calls only.
    pub nodes: Vec<NodeId>,
}

/// A group of nodes as a module.
pub(super) struct Part {
    pub(super) module: GraphModule,
    /// The nodes outside that it takes.
    pub(super) inputs: Vec<NodeId>,
    /// Its nodes that it gives.
    pub(super) outputs: Vec<NodeId>,
}

/// The nodes, in the order of the graph, as a module that gives `outputs`; `sizes` are the nodes that give symbolic sizes.
pub(super) fn submodule(
    module: &GraphModule,
    class: &str,
    nodes: &[NodeId],
    outputs: &[NodeId],
    sizes: &FxHashSet<NodeId>,
) -> Result<Part> {
    let (graph, mut inner) = (module.graph(), Graph::new());
    let inside: FxHashSet<NodeId> = nodes.iter().copied().collect();
    let used: IndexSet<NodeId> = nodes.iter().flat_map(|id| graph[*id].inputs()).collect();
    let (state, inputs): (Vec<NodeId>, Vec<NodeId>) =
        used.into_iter().filter(|id| !inside.contains(id)).partition(|id| graph[*id].op() == Opcode::GetAttr);
    let mut map = NodeMap::new();
    for &id in &inputs {
        let input = inner.placeholder(graph[id].name());
        set_shape(shape(graph, sizes, id), &mut inner, input);
        map.insert(id, Arg::Value(input));
    }
    for &id in state.iter().chain(nodes) {
        let copy = inner.node_copy(graph, id, &mut |input| mapped(graph, &map, input))?;
        map.insert(id, Arg::Value(copy));
    }
    let mut results = outputs.iter().map(|id| mapped(graph, &map, *id)).collect::<Result<Vec<_>>>()?;
    inner.output(match results.len() {
        0 => Arg::None,
        1 => results.remove(0),
        _ => Arg::Tuple(results),
    });
    let state = module.state().used_by(&inner);
    Ok(Part { module: GraphModule::with_state(inner, state, class)?, inputs, outputs: outputs.to_vec() })
}

/// The model with each partition in a module of its own.
///
/// # Errors
/// If a node is in two partitions or is no call, a partition's name is taken, or partitions depend on each other in a
/// cycle; then the message shows the cycle.
pub(super) fn extract(module: &GraphModule, partitions: &[Partition]) -> Result<GraphModule> {
    let graph = module.graph();
    let units = Units::new(module, partitions)?;
    let sizes = codegen::sizes(module);
    let (mut outer, mut state, mut map) = (Graph::new(), module.state().clone(), NodeMap::new());
    for unit in units.order(module, partitions)? {
        match unit {
            Unit::Node(id) if graph[id].op() == Opcode::GetAttr && units.only_inside(graph, id) => {}
            Unit::Node(id) => {
                let copy = outer.node_copy(graph, id, &mut |input| mapped(graph, &map, input))?;
                map.insert(id, Arg::Value(copy));
            }
            Unit::Partition(index) => {
                let Partition { name, nodes } = &partitions[index];
                let used_outside =
                    |id: &&NodeId| graph[**id].users().any(|user| units.owner.get(&user) != Some(&index));
                let outputs: Vec<_> = nodes.iter().filter(used_outside).copied().collect();
                let part = submodule(module, name, nodes, &outputs, &sizes)?;
                call(graph, &sizes, &mut outer, &mut map, name, &part)?;
                state.modules.insert(name.clone(), Arc::new(part.module));
            }
        }
    }
    GraphModule::with_state(outer, state, module.class_name())
}

/// Adds the call of a part, and a `getitem` for each of several outputs.
fn call(
    graph: &Graph,
    sizes: &FxHashSet<NodeId>,
    outer: &mut Graph,
    map: &mut NodeMap,
    name: &str,
    part: &Part,
) -> Result<()> {
    let args = part.inputs.iter().map(|id| mapped(graph, map, *id)).collect::<Result<Vec<_>>>()?;
    let call = outer.create_node(Opcode::CallModule, name, args, Kwargs::new(), None);
    let shape = |id: NodeId| shape(graph, sizes, id);
    if let [output] = part.outputs[..] {
        set_shape(shape(output), outer, call);
        map.insert(output, Arg::Value(call));
        return Ok(());
    }
    let shapes: Option<Vec<Arg<Meta>>> = part.outputs.iter().map(|id| shape(*id)).collect();
    set_shape(shapes.map(Arg::Tuple), outer, call);
    for (i, output) in part.outputs.iter().enumerate() {
        let item = outer.call_function(ops::getitem, [NodeArg::Value(call), Arg::from(i)]);
        if let Some(meta) = outer.meta_mut(item) {
            *meta = graph[*output].meta().clone();
        }
        set_shape(shape(*output), outer, item);
        map.insert(*output, Arg::Value(item));
    }
    Ok(())
}

/// What is noted of a node's value; of a size of which nothing is noted, a symbol of its name, so that a part whose input
/// it is knows that it is one.
fn shape(graph: &Graph, sizes: &FxHashSet<NodeId>, id: NodeId) -> Option<Arg<Meta>> {
    let size = || Arg::Value(Meta::Int(Dim::symbol(graph[id].name(), 1)));
    graph[id].meta().shape().cloned().or_else(|| sizes.contains(&id).then(size))
}

fn set_shape(shape: Option<Arg<Meta>>, graph: &mut Graph, id: NodeId) {
    if let Some((shape, meta)) = shape.zip(graph.meta_mut(id)) {
        meta.insert(shape);
    }
}
