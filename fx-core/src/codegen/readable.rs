//! The generated `forward` for reading: with shapes, the user's source lines and modules as comments.

use indexmap::IndexMap;

use super::forward;
use super::forward::shown;
use crate::graph::{Node, NodeId, Opcode};
use crate::graph_module::GraphModule;

/// The graph's `forward` alone, with a comment wherever the user's source line or module changes, and with shapes as far
/// as they were propagated; torch.fx's `print_readable`.
pub fn readable(module: &GraphModule) -> String {
    let (graph, forward) = (module.graph(), forward::forward(module));
    let mut text = format!("{} {{", forward.signature);
    for (_, node) in graph.nodes().filter(|(_, node)| node.op() == Opcode::Placeholder) {
        if let Some(shape) = node.meta().shape().and_then(shown) {
            text.push_str(&format!("\n    // {}: {shape}", node.name()));
        }
    }
    let mut last = None;
    for (id, statement) in &forward.statements {
        let origin = origin(&graph[*id]);
        if let Some(origin) = origin.filter(|origin| last.as_ref() != Some(origin)) {
            text.push_str(&format!("\n    // {origin}"));
            last = Some(origin);
        }
        text.push_str(&format!("\n    {statement}"));
    }
    for problem in &forward.problems {
        text.push_str(&format!("\n    // cannot be written: {problem}"));
    }
    text + "\n}"
}

/// The statement of each node in the generated `forward`, of those that have one of their own.
pub fn statements(module: &GraphModule) -> IndexMap<NodeId, String> {
    forward::forward(module).statements.into_iter().collect()
}

/// `model.rs:12, in layer1.0 (Bottleneck)`
fn origin(node: &Node) -> Option<String> {
    let location = node.meta().location()?;
    let frame = node.meta().module_stack().last().filter(|frame| !frame.path.is_empty());
    let module = frame.map_or_else(String::new, |frame| format!(", in {} ({})", frame.path, frame.type_name));
    Some(format!("{}:{}{module}", location.file, location.line))
}
