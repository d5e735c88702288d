//! Arguments as Rust expressions, at the place of one node: what is used for the last time is moved, else borrowed.

use rustc_hash::{FxHashMap, FxHashSet};

use super::kinds::{Kind, Kinds};
use super::literal;
use crate::arg::Arg;
use crate::graph::{Graph, NodeArg, NodeId};

/// The place of a node in generated code.
pub(super) struct Site<'a> {
    pub(super) graph: &'a Graph,
    pub(super) kinds: &'a Kinds,
    /// The nodes that are mentioned once here and nowhere after.
    pub(super) dying: FxHashSet<NodeId>,
}

/// The nodes that may be moved at each node: mentioned once by it, and by no later one.
pub(super) fn dying(graph: &Graph, skipped: &FxHashSet<NodeId>) -> FxHashMap<NodeId, FxHashSet<NodeId>> {
    let mut result: FxHashMap<NodeId, FxHashSet<NodeId>> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    for (id, node) in graph.nodes().rev().filter(|(id, _)| !skipped.contains(id)) {
        let mut mentions: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut count = |id: &NodeId| *mentions.entry(*id).or_default() += 1;
        node.args().iter().for_each(|arg| arg.for_each(&mut count));
        node.kwargs().iter().for_each(|(_, arg)| arg.for_each(&mut count));
        for input in node.inputs() {
            if seen.insert(input) && mentions[&input] == 1 {
                result.entry(id).or_default().insert(input);
            }
        }
    }
    result
}

impl Site<'_> {
    pub(super) fn kind(&self, arg: &NodeArg) -> Option<Kind> {
        arg.as_value().and_then(|id| self.kinds.get(id)).copied()
    }

    pub(super) fn name(&self, id: NodeId) -> &str {
        self.graph[id].name()
    }

    /// The field that a get_attr node reads.
    fn state(&self, id: NodeId) -> String {
        place(self.graph[id].target().name())
    }

    /// `x` where it is moved, else `&x`.
    fn borrowed(&self, id: NodeId) -> String {
        if self.dying.contains(&id) { self.name(id).to_owned() } else { format!("&{}", self.name(id)) }
    }

    /// A value of its own: `x` where it is moved, else `x.clone()`.
    pub(super) fn owned(&self, id: NodeId) -> String {
        match self.kinds.get(&id) {
            Some(Kind::State) => self.read(id),
            _ if self.dying.contains(&id) => self.name(id).to_owned(),
            _ => format!("{}.clone()", self.name(id)),
        }
    }

    /// A parameter or buffer as a value.
    fn read(&self, id: NodeId) -> String {
        format!("{}.value::<Tensor>()", self.state(id))
    }

    /// A tensor operand: a value or `&self.param`.
    pub(super) fn operand(&self, arg: &NodeArg) -> Option<String> {
        match (arg, self.kind(arg)?) {
            (Arg::Value(id), Kind::Tensor) => Some(self.borrowed(*id)),
            (Arg::Value(id), Kind::State) => Some(format!("&{}", self.state(*id))),
            _ => None,
        }
    }

    /// What a method is called on.
    pub(super) fn receiver(&self, arg: &NodeArg) -> Option<String> {
        match (arg, self.kind(arg)?) {
            (Arg::Value(id), Kind::Tensor) => Some(self.name(*id).to_owned()),
            (Arg::Value(id), Kind::State) => Some(self.read(*id)),
            _ => None,
        }
    }

    /// A tensor as a value or a reference to one.
    pub(super) fn value(&self, arg: &NodeArg) -> Option<String> {
        match (arg, self.kind(arg)?) {
            (Arg::Value(id), Kind::Tensor) => Some(self.borrowed(*id)),
            (Arg::Value(id), Kind::State) => Some(self.read(*id)),
            _ => None,
        }
    }

    /// An optional tensor operand.
    pub(super) fn optional(&self, arg: &NodeArg) -> Option<String> {
        match (arg, self.kind(arg)) {
            (Arg::None, _) => Some("None::<&Tensor>".to_owned()),
            (Arg::Value(id), Some(Kind::Maybe)) => Some(format!("{}.as_ref()", self.name(*id))),
            _ => self.operand(arg),
        }
    }

    /// A symbolic size.
    pub(super) fn size(&self, arg: &NodeArg) -> Option<String> {
        match (arg, self.kind(arg)?) {
            (Arg::Value(id), Kind::Size) => Some(self.borrowed(*id)),
            _ => None,
        }
    }

    /// A tensor, a size or a number.
    pub(super) fn number(&self, arg: &NodeArg) -> Option<String> {
        match arg {
            Arg::Int(x) => Some(literal::int(*x)),
            Arg::Float(x) => Some(literal::float(*x)),
            Arg::Bool(x) => Some(x.to_string()),
            _ => self.operand(arg).or_else(|| self.size(arg)),
        }
    }

    /// A list of tensors, all moved or all borrowed.
    pub(super) fn list(&self, arg: &NodeArg) -> Option<String> {
        let items = arg.as_items()?;
        if items.is_empty() {
            return Some("Vec::<Tensor>::new()".to_owned());
        }
        let tensors = items.iter().map(|item| match (item, self.kind(item)?) {
            (Arg::Value(id), kind @ (Kind::Tensor | Kind::State)) => Some((*id, kind)),
            _ => None,
        });
        let tensors = tensors.collect::<Option<Vec<_>>>()?;
        let moved = tensors.iter().any(|(id, kind)| *kind == Kind::State || self.dying.contains(id));
        let one = |(id, _): &(NodeId, Kind)| if moved { self.owned(*id) } else { format!("&{}", self.name(*id)) };
        Some(format!("[{}]", tensors.iter().map(one).collect::<Vec<_>>().join(", ")))
    }

    /// Any argument, as what a call takes: numbers and words plain.
    pub(super) fn any(&self, arg: &NodeArg) -> String {
        match arg {
            Arg::Int(x) => literal::int(*x),
            Arg::Float(x) => literal::float(*x),
            Arg::Bool(x) => x.to_string(),
            Arg::Str(x) => format!("{x:?}"),
            Arg::DType(x) => literal::dtype(*x),
            other => self.arg(other),
        }
    }

    /// Any argument, as an `Arg`.
    pub(super) fn arg(&self, arg: &NodeArg) -> String {
        let list = |items: &[NodeArg]| items.iter().map(|item| self.arg(item)).collect::<Vec<_>>().join(", ");
        match arg {
            Arg::None => "fx::Arg::None".to_owned(),
            Arg::Value(id) => match self.kind(arg) {
                Some(Kind::Tensor | Kind::State) => format!("fx::Arg::Value({})", self.owned(*id)),
                Some(Kind::Size) => format!("{}.as_arg().clone()", self.name(*id)),
                _ => format!("fx::value::Tree::<Tensor>::to_arg(&{})", self.name(*id)),
            },
            Arg::Bool(x) => format!("fx::Arg::Bool({x})"),
            Arg::Int(x) => format!("fx::Arg::Int({x})"),
            Arg::Float(x) => format!("fx::Arg::Float({})", literal::float(*x)),
            Arg::Str(x) => format!("fx::Arg::Str({x:?}.into())"),
            Arg::DType(x) => format!("fx::Arg::DType({})", literal::dtype(*x)),
            Arg::Ellipsis => "fx::Arg::Ellipsis".to_owned(),
            Arg::List(items) => format!("fx::Arg::List(vec![{}])", list(items)),
            Arg::Tuple(items) => format!("fx::Arg::Tuple(vec![{}])", list(items)),
            Arg::Slice(bounds) => format!("fx::Arg::Slice(Box::new([{}]))", list(&**bounds)),
            Arg::Dict(entries) => {
                let entries: Vec<_> =
                    entries.iter().map(|(key, arg)| format!("({key:?}, {})", self.arg(arg))).collect();
                format!("fx::Arg::Dict([{}].into_iter().collect())", entries.join(", "))
            }
        }
    }

    /// What stands in `x.index(..)`.
    pub(super) fn index(&self, arg: &NodeArg) -> String {
        match arg {
            Arg::Int(x) => x.to_string(),
            Arg::Tuple(items) if (1..=6).contains(&items.len()) => {
                let parts: Vec<_> = items.iter().map(|item| self.index_part(item)).collect();
                if parts.len() == 1 { format!("({},)", parts[0]) } else { format!("({})", parts.join(", ")) }
            }
            other => self.index_part(other),
        }
    }

    fn index_part(&self, arg: &NodeArg) -> String {
        match arg {
            Arg::Int(x) => x.to_string(),
            Arg::Slice(bounds) => match &**bounds {
                [start, stop, Arg::None] => self.range(start, stop).unwrap_or_else(|| self.arg(arg)),
                _ => self.arg(arg),
            },
            Arg::Value(_) => self.value(arg).or_else(|| self.size(arg)).unwrap_or_else(|| self.arg(arg)),
            other => self.arg(other),
        }
    }

    /// A range of integers or of sizes.
    fn range(&self, start: &NodeArg, stop: &NodeArg) -> Option<String> {
        let of_sizes = [start, stop].iter().any(|bound| self.kind(bound) == Some(Kind::Size));
        let bound = |bound: &NodeArg| match bound {
            Arg::None => Some(String::new()),
            Arg::Int(x) if of_sizes => Some(format!("SymInt::from({})", literal::int(*x))),
            Arg::Int(x) => Some(x.to_string()),
            Arg::Value(id) if self.kind(bound) == Some(Kind::Size) => Some(self.owned(*id)),
            _ => None,
        };
        Some(format!("{}..{}", bound(start)?, bound(stop)?))
    }
}

/// The place of what is at `path`: `self.layers._3.conv1`.
pub(super) fn place(path: &str) -> String {
    let mut place = "self".to_owned();
    for part in path.split('.') {
        place.push('.');
        place.push_str(&literal::field(part).unwrap_or_else(|| part.to_owned()));
    }
    place
}
