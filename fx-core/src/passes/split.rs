//! Splitting a graph into modules that the caller chooses: torch.fx's `split_module` and `split_by_tags`.

use indexmap::IndexMap;

use super::extract::{Partition, extract};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId, Opcode};
use crate::graph_module::GraphModule;

/// The name of the part that a node belongs to, in its metadata, for [`split_by_tags`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag(pub String);

/// Splits a model: calls for which `part` gives the same number go into one module, `submod_0` for the number 0; a call for
/// which it gives `None` stays where it is.
///
/// The modules are captured models that share their state with the original, whose path in the result is the module's,
/// a dot, and the old path. [`inline_submodules`](super::inline_submodules) makes one graph of them again.
///
/// ```
/// use fx_core::{GraphModule, Opcode, graph::Graph, passes};
///
/// let mut graph = Graph::new();
/// let x = graph.placeholder("x");
/// let relu = graph.call_method("relu", [x]);
/// let neg = graph.call_method("neg", [relu]);
/// graph.output(neg);
/// let module = GraphModule::with_state(graph, Default::default(), "Two")?;
/// let split = passes::split_module(&module, |graph, id| usize::from(graph[id].name() == "neg"))?;
/// assert_eq!(
///     split.graph().to_string(),
///     "graph():
///     %x : [num_users=1] = placeholder[target=x]
///     %submod_0 : [num_users=1] = call_module[target=submod_0](args = (%x,), kwargs = {})
///     %submod_1 : [num_users=1] = call_module[target=submod_1](args = (%submod_0,), kwargs = {})
///     return submod_1"
/// );
/// # Ok::<(), fx_core::Error>(())
/// ```
///
/// # Errors
/// If parts depend on each other in a cycle; the message shows it.
pub fn split_module<P: Into<Option<usize>>>(
    module: &GraphModule,
    mut part: impl FnMut(&Graph, NodeId) -> P,
) -> Result<GraphModule> {
    let graph = module.graph();
    let mut parts: IndexMap<usize, Vec<NodeId>> = IndexMap::new();
    for id in calls(graph) {
        if let Some(part) = part(graph, id).into() {
            parts.entry(part).or_default().push(id);
        }
    }
    let named = |(part, nodes)| Partition { name: format!("submod_{part}"), nodes };
    extract(module, &parts.into_iter().map(named).collect::<Vec<_>>())
}

/// Splits a model by the [`Tag`]s of its calls into modules with the tags' names, which `tags` lists in their order.
///
/// # Errors
/// If a call has no tag or one that is not listed, or if it comes before the tag of one of its inputs.
pub fn split_by_tags(module: &GraphModule, tags: &[&str]) -> Result<GraphModule> {
    let graph = module.graph();
    let mut parts: Vec<Partition> =
        tags.iter().map(|tag| Partition { name: (*tag).to_owned(), nodes: Vec::new() }).collect();
    let place = |id: NodeId| {
        let tag = graph[id].meta().get::<Tag>()?;
        tags.iter().position(|have| *have == tag.0)
    };
    for id in calls(graph) {
        let node = &graph[id];
        let wrong = |message: String| Error::new(ErrorKind::Graph, message).at_node(|| graph.format_node(id));
        let tag = node.meta().get::<Tag>().ok_or_else(|| wrong(format!("%{} has no tag", node.name())))?;
        let own = place(id).ok_or_else(|| wrong(format!("the tag `{}` is not among {tags:?}", tag.0)))?;
        if let Some(input) = node.inputs().into_iter().find(|input| place(*input).is_some_and(|place| place > own)) {
            let (name, other) = (graph[input].name(), tags[place(input).unwrap_or(own)]);
            let message = format!("the tag `{}` comes before `{other}`, the tag of its input %{name}", tag.0);
            return Err(wrong(message).help("list the tags in the order in which the parts run"));
        }
        parts[own].nodes.push(id);
    }
    parts.retain(|part| !part.nodes.is_empty());
    extract(module, &parts)
}

/// The nodes that call something.
pub(super) fn calls(graph: &Graph) -> impl Iterator<Item = NodeId> + '_ {
    let call = |op| matches!(op, Opcode::CallFunction | Opcode::CallMethod | Opcode::CallModule);
    graph.nodes().filter(move |(_, node)| call(node.op())).map(|(id, _)| id)
}
