//! Graphviz text in the style of torch.fx's `FxGraphDrawer`: a record for each node, coloured by opcode.

use indexmap::IndexMap;

use super::card::{Card, cards, color};
use crate::graph::Opcode;
use crate::graph_module::GraphModule;
use crate::module::{Entry, entries};
use crate::value::Meta;

/// What [`dot`] shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotOptions {
    /// Leaves out `get_attr` nodes.
    pub ignore_getattr: bool,
    /// Leaves out the parameters and buffers of leaf modules, which are nodes of their own otherwise.
    pub ignore_parameters_and_buffers: bool,
    /// Shows the user's source line.
    pub source_lines: bool,
}

/// The graph as Graphviz text, named `name`.
///
/// ```
/// use fx_core::{GraphModule, draw, graph::Graph};
///
/// let mut graph = Graph::new();
/// let x = graph.placeholder("x");
/// let relu = graph.call_method("relu", [x]);
/// graph.output(relu);
/// let module = GraphModule::with_state(graph, Default::default(), "Relu")?;
/// let text = draw::dot(&module, "relu", &draw::DotOptions::default());
/// assert!(text.starts_with("digraph \"relu\" {\nrankdir=TB;\n"));
/// assert!(text.contains("\"x\" -> \"relu\";"));
/// # Ok::<(), fx_core::Error>(())
/// ```
pub fn dot(module: &GraphModule, name: &str, options: &DotOptions) -> String {
    let cards = cards(module);
    let shown = |card: &&Card| !(options.ignore_getattr && card.op == Opcode::GetAttr);
    let mut lines = vec![format!("digraph {} {{", quoted(name)), "rankdir=TB;".to_owned()];
    for card in cards.iter().filter(shown) {
        lines.push(record(&card.name, &label(card, options), color(card.op, &card.target)));
        if card.op == Opcode::CallModule && !options.ignore_parameters_and_buffers {
            lines.extend(weights(module, card));
        }
    }
    for card in cards.iter().filter(shown) {
        let inputs = card.inputs.iter().map(|input| &cards[*input]).filter(shown);
        lines.extend(inputs.map(|input| format!("{} -> {};", quoted(&input.name), quoted(&card.name))));
    }
    lines.join("\n") + "\n}\n"
}

/// [`dot`] of the graph, and of every captured model that it calls, at any depth: those by the name of the graph, an
/// underscore and the path.
pub fn dots(module: &GraphModule, name: &str, options: &DotOptions) -> IndexMap<String, String> {
    let mut all = IndexMap::from([(name.to_owned(), dot(module, name, options))]);
    for (path, called) in &module.state().modules {
        if let Some(called) = called.as_graph_module() {
            all.extend(dots(called, &format!("{name}_{path}"), options));
        }
    }
    all
}

fn label(card: &Card, options: &DotOptions) -> String {
    let mut fields = vec![format!("name=%{}", card.name), format!("op_code={}", card.op)];
    if card.repr.is_empty() {
        fields.push(format!("target={}", card.target));
    } else {
        fields.push(card.repr.clone());
    }
    let users = card.text.split_once("[num_users=").and_then(|(_, rest)| rest.split_once(']'));
    fields.extend(users.map(|(users, _)| format!("num_users={users}")));
    fields.extend(Some(card.shape.clone()).filter(|shape| !shape.is_empty()));
    fields.extend(Some(card.location.clone()).filter(|location| options.source_lines && !location.is_empty()));
    let fields: Vec<_> = fields.iter().map(|field| escaped(field)).collect();
    format!("{{{}}}", fields.join("|"))
}

/// The parameters and buffers of the module that a node calls, as nodes.
fn weights(module: &GraphModule, card: &Card) -> Vec<String> {
    let Some(called) = module.state().modules.get(&card.target).filter(|called| called.as_graph_module().is_none())
    else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for (path, entry) in entries(&**called) {
        let (kind, tensor) = match entry {
            Entry::Parameter(parameter) => ("get_parameter", parameter.tensor()),
            Entry::Buffer(buffer) => ("get_buffer", buffer.tensor()),
            _ => continue,
        };
        let name = format!("{}.{path}", card.name);
        let label = [name.clone(), format!("op_code={kind}"), Meta::from(&tensor).to_string()];
        let label = label.map(|field| escaped(&field)).join("|");
        lines.push(record(&name, &format!("{{{label}}}"), "#EEEE00"));
        lines.push(format!("{} -> {};", quoted(&name), quoted(&card.name)));
    }
    lines
}

fn record(name: &str, label: &str, color: &str) -> String {
    let style = r##"shape=record, style="filled,rounded", fontcolor="#000000""##;
    format!("{} [label=\"{label}\", fillcolor=\"{color}\", {style}];", quoted(name))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The text of a field of a record.
fn escaped(text: &str) -> String {
    let mut result = String::new();
    for c in text.chars() {
        if matches!(c, '{' | '}' | '|' | '<' | '>' | '"' | '\\') {
            result.push('\\');
        }
        result.push(c);
    }
    result
}
