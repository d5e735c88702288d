//! The text form: torch.fx's `print(graph)`, literals in Python's spelling, which [`super::parse`] reads back.

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::arg::{Arg, Kwargs};
use crate::text::push_number;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("graph():")?;
        let mut line = Text::new(self, "%");
        for (_, node) in self.nodes() {
            line.out.clear();
            line.push(&["\n    "]);
            line.node(node);
            f.write_str(&line.out)?;
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
        self.text("%", |text| text.node(&self[id]))
    }

    /// An argument in the text form, nodes as `%name`.
    pub fn format_arg(&self, arg: &NodeArg) -> String {
        self.text("%", |text| text.arg(arg))
    }

    /// The graph as a table: opcode, name, target, args, kwargs.
    pub fn tabular(&self) -> String {
        let row = |(_, node): (NodeId, &Node)| {
            let (op, target) = (node.op.to_string(), node.target.to_string());
            let args = self.text("", |text| text.sequence("(", &node.args, ")", true));
            vec![op, node.name().to_owned(), target, args, self.text("", |text| text.kwargs(&node.kwargs))]
        };
        crate::text::table(
            &["opcode", "name", "target", "args", "kwargs"],
            &[],
            &self.nodes().map(row).collect::<Vec<_>>(),
        )
    }

    fn text(&self, prefix: &'static str, f: impl FnOnce(&mut Text<'_>)) -> String {
        let mut text = Text::new(self, prefix);
        f(&mut text);
        text.out
    }
}

/// A text in the making.
struct Text<'a> {
    graph: &'a Graph,
    /// What stands before a node's name.
    prefix: &'static str,
    out: String,
}

impl<'a> Text<'a> {
    fn new(graph: &'a Graph, prefix: &'static str) -> Self {
        Self { graph, prefix, out: String::new() }
    }

    fn push(&mut self, parts: &[&str]) {
        parts.iter().for_each(|part| self.out.push_str(part));
    }

    fn display(&mut self, x: impl fmt::Display) {
        // Writing to a string does not fail.
        let _ = write!(self.out, "{x}");
    }

    fn node(&mut self, node: &Node) {
        if node.op == Opcode::Output {
            self.push(&["return "]);
            let prefix = std::mem::take(&mut self.prefix);
            self.arg(node.args.first().unwrap_or(&Arg::None));
            self.prefix = prefix;
            return;
        }
        self.push(&["%", node.name(), " : "]);
        if let Some(annotation) = node.annotation() {
            self.push(&[&delimited(annotation, "[num_users="), " "]);
        }
        self.push(&["[num_users="]);
        push_number(&mut self.out, node.users.len() as u64);
        self.push(&["] = ", node.op.name(), "[target=", &delimited(node.target.name(), "]"), "]"]);
        match (node.op, node.args.first()) {
            (Opcode::Placeholder, Some(default)) => {
                self.push(&["(default="]);
                self.arg(default);
                self.push(&[")"]);
            }
            (Opcode::Placeholder | Opcode::GetAttr, _) => {}
            _ => {
                self.push(&["(args = "]);
                self.sequence("(", &node.args, ")", true);
                self.push(&[", kwargs = "]);
                self.kwargs(&node.kwargs);
                self.push(&[")"]);
            }
        }
    }

    fn kwargs(&mut self, kwargs: &Kwargs<NodeId>) {
        self.push(&["{"]);
        for (place, (key, arg)) in kwargs.iter().enumerate() {
            self.push(&[if place > 0 { ", " } else { "" }, &string(key), ": "]);
            self.arg(arg);
        }
        self.push(&["}"]);
    }

    fn arg(&mut self, arg: &NodeArg) {
        match arg {
            Arg::None => self.push(&["None"]),
            Arg::Value(id) => match self.graph.get(*id) {
                Some(node) => self.push(&[self.prefix, node.name()]),
                None => self.display(id),
            },
            Arg::Bool(true) => self.push(&["True"]),
            Arg::Bool(false) => self.push(&["False"]),
            Arg::Int(x) => self.display(x),
            // Most floats are small whole numbers.
            Arg::Float(x) if *x > 0.0 && *x < 1e6 && x.fract() == 0.0 => {
                push_number(&mut self.out, *x as u64);
                self.push(&[".0"]);
            }
            Arg::Float(x) => self.push(&[&float(*x)]),
            Arg::Str(x) if self.prefix.is_empty() => self.push(&[&quoted(x)]),
            Arg::Str(x) => self.push(&[&string(x)]),
            Arg::DType(x) => self.push(&[x.torch_name()]),
            Arg::Ellipsis => self.push(&["Ellipsis"]),
            Arg::List(items) => self.sequence("[", items, "]", false),
            Arg::Tuple(items) => self.sequence("(", items, ")", true),
            Arg::Dict(entries) => self.kwargs(entries),
            Arg::Slice(bounds) => self.sequence("slice(", &**bounds, ")", false),
        }
    }

    fn sequence(&mut self, open: &str, items: &[NodeArg], close: &str, tuple: bool) {
        self.push(&[open]);
        for (place, item) in items.iter().enumerate() {
            self.push(&[if place > 0 { ", " } else { "" }]);
            self.arg(item);
        }
        self.push(&[if tuple && items.len() == 1 { "," } else { "" }, close]);
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
fn delimited<'a>(text: &'a str, end: &str) -> Cow<'a, str> {
    let is_path = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':'));
    let plain = || !text.starts_with('\'') && !text.contains(end) && !text.contains(char::is_control);
    if is_path || plain() { text.into() } else { quoted(text).into() }
}

/// A string without quotes, as torch.fx prints it, where that reads back as the same string.
fn string(text: &str) -> Cow<'_, str> {
    if super::parse::is_bare_word(text) { text.into() } else { quoted(text).into() }
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
