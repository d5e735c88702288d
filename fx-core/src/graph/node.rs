//! Nodes, their ids, opcodes and targets.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexSet;
use smallvec::SmallVec;

use super::namer::Name;
use super::{Metadata, NodeArg};
use crate::arg::Kwargs;
use crate::error::Error;
use crate::ops::Function;

/// The handle of a node: valid while the node is in its graph, never reused for another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Opcode {
    /// An input; the target is its name.
    Placeholder,
    /// A parameter or buffer; the target is its path.
    GetAttr,
    /// A call of a function.
    CallFunction,
    /// A call of a method; the target is its name, the first argument is `self`.
    CallMethod,
    /// A call of a module; the target is its path.
    CallModule,
    /// What the graph gives, its first argument.
    Output,
}

/// What a node calls or reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A function.
    Function(Function),
    /// A name: of an input, a path, a method.
    Name(Cow<'static, str>),
}

/// One call in a graph.
#[derive(Clone)]
pub struct Node {
    pub(super) name: Name,
    pub(super) op: Opcode,
    pub(super) target: Target,
    pub(super) args: SmallVec<[NodeArg; 2]>,
    pub(super) kwargs: Kwargs<NodeId>,
    pub(super) users: SmallVec<[NodeId; 2]>,
    pub(super) annotation: Option<String>,
    pub(super) meta: Metadata,
}

/// A place for a node, and its neighbours in the order. Copies of a graph share a node until one of them changes it.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) generation: u32,
    pub(super) node: Option<Arc<Node>>,
    pub(super) prev: Option<NodeId>,
    pub(super) next: Option<NodeId>,
    /// Grows along the order.
    pub(super) rank: u64,
}

/// Nodes, each once. Few, mostly.
pub type NodeIds = SmallVec<[NodeId; 4]>;

impl NodeId {
    /// Its place in a table of [`Graph::slot_count`](super::Graph::slot_count) entries.
    pub(crate) fn index(self) -> usize {
        self.index as usize
    }
}

impl Opcode {
    /// All opcodes.
    pub const ALL: [Opcode; 6] = [
        Opcode::Placeholder,
        Opcode::GetAttr,
        Opcode::CallFunction,
        Opcode::CallMethod,
        Opcode::CallModule,
        Opcode::Output,
    ];

    /// Its name in torch.fx: `call_function`.
    pub const fn name(self) -> &'static str {
        match self {
            Opcode::Placeholder => "placeholder",
            Opcode::GetAttr => "get_attr",
            Opcode::CallFunction => "call_function",
            Opcode::CallMethod => "call_method",
            Opcode::CallModule => "call_module",
            Opcode::Output => "output",
        }
    }
}

impl Target {
    /// The target as it is printed.
    pub fn name(&self) -> &str {
        match self {
            Target::Function(function) => function.name(),
            Target::Name(name) => name,
        }
    }

    /// The function, if it is one.
    pub fn as_function(&self) -> Option<Function> {
        match self {
            Target::Function(function) => Some(*function),
            Target::Name(_) => None,
        }
    }
}

impl Node {
    /// Its name, unique in the graph.
    pub fn name(&self) -> &str {
        &self.name.text
    }

    /// What it does.
    pub fn op(&self) -> Opcode {
        self.op
    }

    /// What it calls or reads.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The function that it calls, written as a function or as a method.
    pub fn function(&self) -> Option<Function> {
        match self.op {
            Opcode::CallFunction => self.target.as_function(),
            Opcode::CallMethod => Function::lookup(self.target.name()),
            _ => None,
        }
    }

    /// Its positional arguments.
    pub fn args(&self) -> &[NodeArg] {
        &self.args
    }

    /// Its keyword arguments.
    pub fn kwargs(&self) -> &Kwargs<NodeId> {
        &self.kwargs
    }

    /// The nodes that use it, each once, in the order in which they began to.
    pub fn users(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.users.iter().copied()
    }

    /// The nodes that it uses, each once, in the order of its arguments.
    pub fn inputs(&self) -> NodeIds {
        let mut all = NodeIds::new();
        self.for_each_input(&mut |id| all.push(id));
        if all.len() > 16 {
            return all.into_iter().collect::<IndexSet<_>>().into_iter().collect();
        }
        // Of few, a look at all is faster than a set.
        let mut inputs = NodeIds::new();
        for id in all {
            if !inputs.contains(&id) {
                inputs.push(id);
            }
        }
        inputs
    }

    /// Whether its arguments mention a node.
    pub fn uses(&self, other: NodeId) -> bool {
        let mut uses = false;
        self.for_each_input(&mut |id| uses |= id == other);
        uses
    }

    /// The type that was written for it, as text.
    pub fn annotation(&self) -> Option<&str> {
        self.annotation.as_deref()
    }

    /// What passes and analyses have noted about it.
    pub fn meta(&self) -> &Metadata {
        &self.meta
    }

    pub(crate) fn for_each_input(&self, f: &mut impl FnMut(NodeId)) {
        let mut f = |id: &NodeId| f(*id);
        self.args.iter().for_each(|arg| arg.for_each(&mut f));
        self.kwargs.iter().for_each(|(_, arg)| arg.for_each(&mut f));
    }
}

impl From<Function> for Target {
    fn from(function: Function) -> Self {
        Target::Function(function)
    }
}

impl From<&str> for Target {
    fn from(name: &str) -> Self {
        Target::Name(Cow::Owned(name.to_owned()))
    }
}

impl From<String> for Target {
    fn from(name: String) -> Self {
        Target::Name(Cow::Owned(name))
    }
}

impl From<&String> for Target {
    fn from(name: &String) -> Self {
        Target::Name(Cow::Owned(name.clone()))
    }
}

impl From<NodeId> for NodeArg {
    fn from(id: NodeId) -> Self {
        NodeArg::Value(id)
    }
}

impl FromStr for Opcode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Opcode::ALL
            .into_iter()
            .find(|op| op.name() == name)
            .ok_or_else(|| Error::not_found(format!("there is no opcode `{name}`")))
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%n{}", self.index)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%n{}v{}", self.index, self.generation)
    }
}
