//! Patterns: small graphs that are looked for in a larger one, by torch.fx's rules.
//!
//! - A pattern's inputs stand for anything: a node, a literal, a list; for the same thing wherever they are used.
//! - Its other nodes stand for nodes of equal opcode and target, each for another one. Modules match by type and attributes,
//!   not by path. A read of state matches any read of state.
//! - Literals match if they are equal, as in Python: 1 is 1.0. Keyword arguments match in any order.
//! - Nodes whose result the pattern does not give must have no other user, unless they read state.
//! - What matches can be replaced as a whole: nothing outside lies between its nodes.
//! - Matches do not overlap: the first in the order of the graph wins.
//! - Where a choice fails, the next one is tried, up to 10,000 at one place.

mod search;

use std::fmt;

use indexmap::IndexMap;

use super::Part;
use crate::error::{Error, Result};
use crate::graph::{Graph, NodeArg, NodeId, Opcode};
use crate::graph_module::{GraphModule, State};
use search::Search;

/// Decides about a match.
type Filter = Box<dyn Fn(&Graph, &Match) -> bool>;

/// What is looked for, and how. See the module's documentation for the rules.
///
/// ```
/// # use fx_core::{passes::Pattern, prelude::*, *};
/// # fn main() -> Result<()> {
/// let mut module = fx_core::trace_fn!(|x| x.sigmoid() * &x)?;
/// let pattern = Pattern::new(fx_core::trace_fn!(|x| &x * functional::sigmoid(&x))?)?.any_spelling().commutative();
/// let matches = pattern.replace(&mut module, fx_core::trace_fn!(|x| x.silu())?)?;
/// assert_eq!(matches.len(), 1);
/// assert!(module.graph().to_string().contains("silu"));
/// # Ok(())
/// # }
/// ```
pub struct Pattern {
    part: Part,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
    ignore_literals: bool,
    any_spelling: bool,
    commutative: bool,
    same_paths: bool,
    pub(super) rounds: usize,
    filter: Option<Filter>,
}

/// A place in a graph where a pattern was found.
#[derive(Clone, Debug)]
pub struct Match {
    /// The node that stands for what the pattern gives first.
    pub anchor: NodeId,
    /// What each of the pattern's nodes stands for, by its name in the pattern.
    pub nodes: IndexMap<String, NodeArg>,
    /// The nodes that took its place, if it was replaced.
    pub replacements: Vec<NodeId>,
    /// What each of the pattern's nodes stands for, by its id.
    pub(super) bindings: IndexMap<NodeId, NodeArg>,
}

impl Pattern {
    /// A pattern from a captured function or module, or a graph.
    ///
    /// # Errors
    /// If it has no calls, an input or a call that it does not need, or gives something that it did not compute.
    pub fn new(part: impl Into<Part>) -> Result<Self> {
        let part = part.into();
        let graph = &part.graph;
        let mut outputs = indexmap::IndexSet::new();
        let mut literal = graph.output_arg().is_none();
        if let Some(arg) = graph.output_arg() {
            arg.for_each(&mut |id| {
                outputs.insert(*id);
            });
            literal |= outputs.iter().any(|id| graph[*id].op() == Opcode::Placeholder);
        }
        if outputs.is_empty() || literal {
            return Err(Error::argument("a pattern gives what it computes, not its inputs or nothing")
                .help("give the result of a call"));
        }
        if let Some((_, node)) = graph.nodes().find(|(_, node)| node.op() != Opcode::Output && node.users().len() == 0)
        {
            return Err(Error::argument(format!("the pattern does not use %{}", node.name())).help("remove it"));
        }
        Ok(Self {
            inputs: graph.placeholders(),
            outputs: outputs.into_iter().collect(),
            part,
            ignore_literals: false,
            any_spelling: false,
            commutative: false,
            same_paths: false,
            rounds: 1,
            filter: None,
        })
    }

    /// Lets every literal match every other.
    #[must_use]
    pub fn ignore_literals(mut self) -> Self {
        self.ignore_literals = true;
        self
    }

    /// Lets `x.relu()`, `relu(x)` and a leaf such as `nn::ReLU` match each other: modules without state, whose `forward`
    /// is one call. For modules with state, decompose them first.
    #[must_use]
    pub fn any_spelling(mut self) -> Self {
        self.any_spelling = true;
        self
    }

    /// Lets the operands of `add`, `mul` and other symmetric functions match in either order.
    #[must_use]
    pub fn commutative(mut self) -> Self {
        self.commutative = true;
        self
    }

    /// Lets modules and reads of state match by path only, as torch.fx matches modules.
    #[must_use]
    pub fn same_paths(mut self) -> Self {
        self.same_paths = true;
        self
    }

    /// Keeps those matches that `filter` accepts.
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(&Graph, &Match) -> bool + 'static) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    /// Replaces again until nothing matches, at most `rounds` times; if something matches then, replacing fails.
    #[must_use]
    pub fn until_stable(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// The pattern itself.
    pub fn graph(&self) -> &Graph {
        &self.part.graph
    }

    /// All matches, in the order of the graph.
    pub fn find(&self, module: &GraphModule) -> Vec<Match> {
        self.find_in(module.graph(), module.state())
    }

    pub(super) fn find_in(&self, graph: &Graph, state: &State) -> Vec<Match> {
        Search::new(self, graph, state).all()
    }

    pub(super) fn inputs(&self) -> &[NodeId] {
        &self.inputs
    }

    pub(super) fn outputs(&self) -> &[NodeId] {
        &self.outputs
    }
}

impl Match {
    /// The node that a node of the pattern stands for.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.get(name)?.as_value().copied()
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.part.graph, f)
    }
}
