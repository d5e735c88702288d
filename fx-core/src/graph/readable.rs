//! The text form with what is noted about the nodes: torch.fx's `print_readable`.

use super::{Graph, Metadata, Opcode};
use crate::arg::Arg;
use crate::value::Meta;

impl Graph {
    /// The text form, with the source line and the module of each node above it where they change, and the shape that is
    /// noted for it before its call: `%relu : f32[2, 64] = call_method[target=relu](..)`.
    ///
    /// It is for reading: unlike the plain text form, it does not parse.
    pub fn readable(&self) -> String {
        let mut text = "graph():".to_owned();
        let mut origin = String::new();
        for (id, node) in self.nodes() {
            let here = describe(node.meta());
            if !here.is_empty() && here != origin {
                text += &format!("\n    # {here}");
                origin = here;
            }
            let line = self.format_node(id);
            let line = match (line.split_once(" = "), node.meta().shape()) {
                (Some((_, call)), Some(shape)) if node.op() != Opcode::Output => {
                    format!("%{} : {} = {call}", node.name(), describe_shape(shape))
                }
                _ => line,
            };
            text += &format!("\n    {line}");
        }
        text
    }
}

fn describe(meta: &Metadata) -> String {
    let module = meta.module_stack().last().filter(|frame| !frame.path.is_empty());
    let module = module.map(|frame| format!("{} ({})", frame.path, frame.type_name));
    let parts = [meta.location().map(ToString::to_string), module];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" in ")
}

fn describe_shape(shape: &Arg<Meta>) -> String {
    match shape {
        Arg::Value(meta) => meta.to_string(),
        Arg::List(items) | Arg::Tuple(items) => {
            format!("({})", items.iter().map(describe_shape).collect::<Vec<_>>().join(", "))
        }
        Arg::Int(x) => x.to_string(),
        other => other.kind().to_owned(),
    }
}
