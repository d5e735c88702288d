//! Reading the text form back. What [`super::print`] writes parses to an equal graph; nothing makes it panic.

use std::borrow::Cow;
use std::str::FromStr;

use rustc_hash::FxHashMap;

use super::{Graph, NodeArg, NodeId, Opcode, Target};
use crate::arg::{Arg, Kwargs};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::Function;
use crate::tensor::DType;

/// How deep arguments may nest.
const DEPTH: usize = 64;

impl FromStr for Graph {
    type Err = Error;

    /// Reads the text form. Function names are looked up with [`Function::lookup`].
    ///
    /// # Errors
    /// If the text is not a graph; the message shows the place.
    fn from_str(text: &str) -> Result<Self> {
        let mut graph = Graph::new();
        let mut names = FxHashMap::default();
        let mut header = false;
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let mut parser = Parser { line, number: number + 1, rest: line.trim_start(), names: &names };
            if !header {
                parser.expect("graph():")?;
                header = true;
                continue;
            }
            if let Some((name, id)) = parser.node(&mut graph)? {
                names.insert(name, id);
            }
        }
        if header { Ok(graph) } else { Err(Error::new(ErrorKind::Format, "expected `graph():`, found nothing")) }
    }
}

/// Whether a string without quotes reads back as itself.
pub(super) fn is_bare_word(text: &str) -> bool {
    let literals = ["None", "True", "False", "Ellipsis", "nan", "inf", "slice"];
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '>'))
        && !literals.contains(&text)
        && !text.starts_with("torch.")
}

struct Parser<'a> {
    line: &'a str,
    number: usize,
    rest: &'a str,
    names: &'a FxHashMap<String, NodeId>,
}

impl<'a> Parser<'a> {
    /// One line: a node, or the output.
    fn node(&mut self, graph: &mut Graph) -> Result<Option<(String, NodeId)>> {
        if self.take("return ") {
            let arg = self.arg(0)?;
            self.end()?;
            graph.output(arg);
            return Ok(None);
        }
        self.expect("%")?;
        let name = self.until(" :")?;
        self.expect(" : ")?;
        let annotation =
            if self.rest.starts_with("[num_users=") { None } else { Some(self.delimited(" [num_users=")?) };
        self.take(" ");
        self.expect("[num_users=")?;
        self.until("]")?;
        self.expect("] = ")?;
        let op: Opcode = self.until("[")?.parse().map_err(|error| self.located(error))?;
        self.expect("[target=")?;
        let target = self.delimited("]")?;
        self.expect("]")?;
        let (args, kwargs) = self.arguments(op)?;
        self.end()?;
        let target = match op {
            Opcode::CallFunction => Target::Function(Function::lookup(&target).ok_or_else(|| {
                self.located(Error::not_found(format!("there is no function `{target}`")))
                    .help("a wrapped function is known once it was traced or registered")
            })?),
            _ => Target::from(target),
        };
        let id = graph.create_node(op, target, args, kwargs, Some(&name));
        if graph[id].name() != name {
            return Err(self.located(Error::new(ErrorKind::Format, format!("the name `{name}` is taken or no name"))));
        }
        graph.annotate(id, annotation);
        Ok(Some((name, id)))
    }

    fn arguments(&mut self, op: Opcode) -> Result<(Vec<NodeArg>, Kwargs<NodeId>)> {
        match op {
            Opcode::Placeholder if self.take("(default=") => {
                let default = self.arg(0)?;
                self.expect(")")?;
                Ok((vec![default], Kwargs::new()))
            }
            Opcode::Placeholder | Opcode::GetAttr => Ok((Vec::new(), Kwargs::new())),
            _ => {
                self.expect("(args = ")?;
                let Arg::Tuple(args) = self.arg(0)? else { return Err(self.error("a tuple of arguments")) };
                self.expect(", kwargs = ")?;
                let Arg::Dict(kwargs) = self.arg(0)? else { return Err(self.error("a dict of arguments")) };
                self.expect(")")?;
                Ok((args, kwargs))
            }
        }
    }

    fn arg(&mut self, depth: usize) -> Result<NodeArg> {
        if depth > DEPTH {
            return Err(self.error("less nesting"));
        }
        if self.take("slice(") {
            let start = self.arg(depth + 1)?;
            self.expect(", ")?;
            let stop = self.arg(depth + 1)?;
            self.expect(", ")?;
            let step = self.arg(depth + 1)?;
            self.expect(")")?;
            return Ok(Arg::Slice(Box::new([start, stop, step])));
        }
        match self.rest.chars().next() {
            Some('%') => {
                self.expect("%")?;
                let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
                self.node_named(name)
            }
            Some('(') => self.sequence('(', ')', depth).map(Arg::Tuple),
            Some('[') => self.sequence('[', ']', depth).map(Arg::List),
            Some('{') => self.dict(depth),
            Some('\'') => self.quoted().map(|text| Arg::Str(Cow::Owned(text))),
            Some(c) if c.is_ascii_digit() || c == '-' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name(),
            _ => Err(self.error("an argument")),
        }
    }

    fn node_named(&self, name: &str) -> Result<NodeArg> {
        self.names
            .get(name)
            .map(|id| Arg::Value(*id))
            .ok_or_else(|| self.located(Error::new(ErrorKind::Format, format!("%{name} is used before it is defined"))))
    }

    fn sequence(&mut self, open: char, close: char, depth: usize) -> Result<Vec<NodeArg>> {
        self.rest = &self.rest[open.len_utf8()..];
        let mut items = Vec::new();
        loop {
            if self.take(&close.to_string()) {
                return Ok(items);
            }
            items.push(self.arg(depth + 1)?);
            if !self.take(",") && !self.rest.starts_with(close) {
                return Err(self.error(&format!("`,` or `{close}`")));
            }
            self.take(" ");
        }
    }

    fn dict(&mut self, depth: usize) -> Result<NodeArg> {
        self.expect("{")?;
        let mut entries = Kwargs::new();
        loop {
            if self.take("}") {
                return Ok(Arg::Dict(entries));
            }
            let key = if self.rest.starts_with('\'') { self.quoted()? } else { self.until(":")? };
            self.expect(": ")?;
            entries.insert(key, self.arg(depth + 1)?);
            if !self.take(", ") && !self.rest.starts_with('}') {
                return Err(self.error("`,` or `}`"));
            }
        }
    }

    fn number(&mut self) -> Result<NodeArg> {
        if self.take("-inf") {
            return Ok(Arg::Float(f64::NEG_INFINITY));
        }
        let text = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'));
        let number =
            if text.contains(['.', 'e']) { text.parse().map(Arg::Float).ok() } else { text.parse().map(Arg::Int).ok() };
        number.ok_or_else(|| self.error("a number"))
    }

    fn name(&mut self) -> Result<NodeArg> {
        let word = self.word(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '>'));
        Ok(match word {
            "None" => Arg::None,
            "True" => Arg::Bool(true),
            "False" => Arg::Bool(false),
            "Ellipsis" => Arg::Ellipsis,
            "nan" => Arg::Float(f64::NAN),
            "inf" => Arg::Float(f64::INFINITY),
            word if word.starts_with("torch.") => {
                Arg::DType(word.parse::<DType>().map_err(|error| self.located(error))?)
            }
            // In the output line nodes stand without their sign.
            word if self.line.trim_start().starts_with("return ") => self.node_named(word)?,
            word => Arg::Str(Cow::Owned(word.to_owned())),
        })
    }

    fn quoted(&mut self) -> Result<String> {
        self.expect("'")?;
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((place, c)) = chars.next() {
            match c {
                '\'' => {
                    self.rest = &self.rest[place + 1..];
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 'u')) => {
                        let digits: String = chars.by_ref().map(|(_, c)| c).skip(1).take_while(|c| *c != '}').collect();
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        text.push(code.ok_or_else(|| self.error("a character code"))?);
                    }
                    Some((_, c)) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(self.error("a closing quote"))
    }

    fn word(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn until(&mut self, end: &str) -> Result<String> {
        let place = self.rest.find(end).ok_or_else(|| self.error(&format!("`{end}`")))?;
        let (text, rest) = self.rest.split_at(place);
        self.rest = rest;
        Ok(text.to_owned())
    }

    /// Text in quotes, or else up to `end`.
    fn delimited(&mut self, end: &str) -> Result<String> {
        if self.rest.starts_with('\'') { self.quoted() } else { self.until(end) }
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.take(text) { Ok(()) } else { Err(self.error(&format!("`{text}`"))) }
    }

    fn end(&self) -> Result<()> {
        if self.rest.trim().is_empty() { Ok(()) } else { Err(self.error("the end of the line")) }
    }

    fn error(&self, expected: &str) -> Error {
        self.located(Error::new(ErrorKind::Format, format!("expected {expected}")))
    }

    fn located(&self, error: Error) -> Error {
        let column = self.line.chars().count() - self.rest.chars().count();
        let message = format!("{}\n{}\n{:column$}^", error.message(), self.line, "");
        Error::new(error.kind(), message).at(format_args!("line {}, column {}", self.number, column + 1))
    }
}
