//! The text form: torch.fx's `print(graph)`, literals in Python's spelling, which [`super::parse`] reads back.

use std::fmt::{self, Write};

use super::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::arg::{Arg, Kwargs};

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("graph():")?;
        for (id, _) in self.nodes() {
            write!(f, "\n    {}", self.format_node(id))?;
        }
        Ok(())
    }
}

impl Graph {
    /// A node as a line of the text form.
    ///
    /// # Panics
    /// If the node was erased or belongs to another graph.
    #[track_caller]
    pub fn format_node(&self, id: NodeId) -> String {
        let node = &self[id];
        let text = |prefix| Text { graph: self, prefix };
        if node.op == Opcode::Output {
            let arg = node.args.first().unwrap_or(&Arg::None);
            return format!("return {}", text("").arg(arg));
        }
        let annotation = node.annotation().map_or(String::new(), |text| format!("{} ", delimited(text, "[num_users=")));
        let head = format!(
            "%{} : {annotation}[num_users={}] = {}[target={}]",
            node.name,
            node.users.len(),
            node.op,
            delimited(node.target.name(), "]")
        );
        match node.op {
            Opcode::Placeholder => match node.args.first() {
                Some(default) => format!("{head}(default={})", text("%").arg(default)),
                None => head,
            },
            Opcode::GetAttr => head,
            _ => format!("{head}(args = {}, kwargs = {})", text("%").args(node), text("%").kwargs(&node.kwargs)),
        }
    }

    /// An argument in the text form, nodes as `%name`.
    pub fn format_arg(&self, arg: &NodeArg) -> String {
        Text { graph: self, prefix: "%" }.arg(arg)
    }

    /// The graph as a table: opcode, name, target, args, kwargs.
    pub fn tabular(&self) -> String {
        let text = Text { graph: self, prefix: "" };
        let row = |(_, node): (NodeId, &Node)| {
            let (op, target) = (node.op.to_string(), node.target.to_string());
            vec![op, node.name.clone(), target, text.args(node), text.kwargs(&node.kwargs)]
        };
        crate::text::table(
            &["opcode", "name", "target", "args", "kwargs"],
            &[],
            &self.nodes().map(row).collect::<Vec<_>>(),
        )
    }
}

struct Text<'a> {
    graph: &'a Graph,
    /// What stands before a node's name.
    prefix: &'static str,
}

impl Text<'_> {
    fn args(&self, node: &Node) -> String {
        self.sequence("(", &node.args, ")", true)
    }

    fn kwargs(&self, kwargs: &Kwargs<NodeId>) -> String {
        let entries: Vec<_> = kwargs.iter().map(|(key, arg)| format!("{}: {}", string(key), self.arg(arg))).collect();
        format!("{{{}}}", entries.join(", "))
    }

    fn arg(&self, arg: &NodeArg) -> String {
        match arg {
            Arg::None => "None".to_owned(),
            Arg::Value(id) => match self.graph.get(*id) {
                Some(node) => format!("{}{}", self.prefix, node.name),
                None => id.to_string(),
            },
            Arg::Bool(true) => "True".to_owned(),
            Arg::Bool(false) => "False".to_owned(),
            Arg::Int(x) => x.to_string(),
            Arg::Float(x) => float(*x),
            Arg::Str(x) if self.prefix.is_empty() => quoted(x),
            Arg::Str(x) => string(x),
            Arg::DType(x) => x.torch_name().to_owned(),
            Arg::Ellipsis => "Ellipsis".to_owned(),
            Arg::List(items) => self.sequence("[", items, "]", false),
            Arg::Tuple(items) => self.sequence("(", items, ")", true),
            Arg::Dict(entries) => self.kwargs(entries),
            Arg::Slice(bounds) => {
                let [start, stop, step] = &**bounds;
                format!("slice({}, {}, {})", self.arg(start), self.arg(stop), self.arg(step))
            }
        }
    }

    fn sequence(&self, open: &str, items: &[NodeArg], close: &str, tuple: bool) -> String {
        let mut text = open.to_owned();
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                text.push_str(", ");
            }
            text.push_str(&self.arg(item));
        }
        if tuple && items.len() == 1 {
            text.push(',');
        }
        text.push_str(close);
        text
    }
}

/// A float as Python's `repr` writes it.
pub(crate) fn float(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let size = x.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        // Rust writes 1e-5 where Python writes 1e-05.
        let text = format!("{x:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = exponent.strip_prefix('-').map_or(("+", exponent), |digits| ("-", digits));
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{x:?}")
}

/// A text as it is, or quoted if its end would not be found before `end`.
fn delimited(text: &str, end: &str) -> String {
    let plain = !text.starts_with('\'') && !text.contains(end) && !text.contains(char::is_control);
    if plain { text.to_owned() } else { quoted(text) }
}

/// A string without quotes, as torch.fx prints it, where that reads back as the same string.
fn string(text: &str) -> String {
    if super::parse::is_bare_word(text) { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut result = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => {
                result.push('\\');
                result.push(c);
            }
            '\n' => result.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(result, "\\u{{{:x}}}", c as u32);
            }
            c => result.push(c),
        }
    }
    result.push('\'');
    result
}
