//! The rules of a graph. All violations are reported, not the first.
//!
//! - A call_function node's target is a function; any other node's target is a name.
//! - A call_method node's target is a known method.
//! - A placeholder has no arguments but its default, a get_attr none, an output one.
//! - Arguments are nodes of this graph.
//! - Arguments are defined before their users.
//! - Names are unique.
//! - A node's users are the nodes whose arguments mention it.
//! - There is at most one output, and it is the last node.
//! - With an [`Owner`]: the path of a get_attr node is a parameter or buffer of it, that of a call_module node a module.

use std::fmt;

use super::node::NodeIds;
use super::{Graph, Node, NodeId, Opcode, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::ops::Function;
use crate::sort::{sort_by, sort_by_key};

/// What a graph's paths refer to.
pub trait Owner {
    /// Whether there is a module at `path`.
    fn has_module(&self, path: &str) -> bool;

    /// Whether there is a parameter or buffer at `path`.
    fn has_attr(&self, path: &str) -> bool;
}

/// A rule that a node breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The node.
    pub node: NodeId,
    /// The node's line in the text form.
    pub line: String,
    /// What is wrong.
    pub message: String,
}

impl Graph {
    /// Checks the rules.
    ///
    /// # Errors
    /// All violations, in one error.
    pub fn lint(&self) -> Result<()> {
        report(&self.violations(None))
    }

    /// Checks the rules, those about the owner's modules and state among them.
    ///
    /// # Errors
    /// All violations, in one error.
    pub fn lint_with(&self, owner: &dyn Owner) -> Result<()> {
        report(&self.violations(Some(owner)))
    }

    /// All violations of the rules, in the order of the nodes.
    pub fn violations(&self, owner: Option<&dyn Owner>) -> Vec<Violation> {
        let mut lint = Lint {
            graph: self,
            violations: Vec::new(),
            named: vec![false; self.names.len()],
            met: vec![0; self.slot_count()],
            unmet: 0,
            in_order: true,
        };
        for (id, node) in self.nodes() {
            lint.target(id, node);
            lint.count(id, node);
            lint.arguments(id, node);
            lint.name(id, node);
            if node.op() == Opcode::Output && self.next(id).is_some() {
                lint.add(id, "the output is not the last node");
            }
            if let Some(owner) = owner {
                lint.path(id, node, owner);
            }
        }
        if !lint.in_order || lint.unmet != 0 {
            lint.users();
        }
        let mut violations = lint.violations;
        sort_by_key(&mut violations, |violation| self.rank(violation.node));
        violations
    }
}

struct Lint<'a> {
    graph: &'a Graph,
    violations: Vec<Violation>,
    /// By number: their names.
    named: Vec<bool>,
    /// By index: how many of a node's recorded users the walk has met, as long as it meets them in their order.
    met: Vec<u32>,
    /// How many recorded users the walk has not met.
    unmet: isize,
    /// Whether it has met nodes in the order in which they are recorded, which is that of the graph unless it was edited.
    in_order: bool,
}

impl Lint<'_> {
    fn add(&mut self, node: NodeId, message: impl Into<String>) {
        self.violations.push(Violation { node, line: self.graph.format_node(node), message: message.into() });
    }

    fn target(&mut self, id: NodeId, node: &Node) {
        match (node.op(), node.target()) {
            (Opcode::CallFunction, Target::Name(name)) => {
                self.add(id, format!("the target of a call_function is a function, not the name `{name}`"));
            }
            (op, Target::Function(function)) if op != Opcode::CallFunction => {
                self.add(id, format!("the target of a {op} is a name, not the function `{function}`"));
            }
            (Opcode::CallMethod, Target::Name(name)) if Function::lookup(name).is_none() => {
                self.add(id, format!("there is no method `{name}`"));
            }
            _ => {}
        }
    }

    fn count(&mut self, id: NodeId, node: &Node) {
        let found = node.args().len() + node.kwargs().len();
        let rule = match node.op() {
            Opcode::Placeholder if node.args().len() > 1 || !node.kwargs().is_empty() => {
                "at most one argument, a default"
            }
            Opcode::GetAttr if found > 0 => "no arguments",
            Opcode::Output if node.args().len() != 1 || found > 1 => "one argument",
            _ => return,
        };
        self.add(id, format!("{} nodes have {rule}, found {found}", node.op()));
    }

    fn arguments(&mut self, id: NodeId, node: &Node) {
        self.unmet += node.users.len() as isize;
        let slots = &self.graph.slots;
        let (rank, mut faulty) = (slots[id.index()].rank, false);
        node.for_each_input(&mut |input| {
            let Some(known) = self.graph.get(input) else {
                faulty = true;
                return;
            };
            faulty |= slots[input.index()].rank >= rank;
            let met = &mut self.met[input.index()];
            let place = *met as usize;
            if known.users.get(place) == Some(&id) {
                *met += 1;
                self.unmet -= 1;
            } else if place == 0 || known.users[place - 1] != id {
                self.in_order = false;
            }
        });
        if faulty {
            self.faulty_arguments(id, node);
        }
    }

    /// Says which inputs are not there, or not before the node.
    fn faulty_arguments(&mut self, id: NodeId, node: &Node) {
        for input in node.inputs() {
            match self.graph.get(input) {
                None => self.add(id, format!("{input} does not belong to this graph, but is used as an argument")),
                Some(_) if self.graph.rank(input) < self.graph.rank(id) => {}
                Some(other) => self.add(id, format!("%{} is used before it is defined", other.name())),
            }
        }
    }

    fn name(&mut self, id: NodeId, node: &Node) {
        if std::mem::replace(&mut self.named[node.name.number], true) {
            self.add(id, format!("the name `{}` is taken by another node", node.name()));
        }
    }

    /// Compares all recorded users with the nodes whose arguments mention a node.
    fn users(&mut self) {
        let mut uses = vec![NodeIds::new(); self.graph.slot_count()];
        for (id, node) in self.graph.nodes() {
            node.for_each_input(&mut |input| {
                if self.graph.contains(input) && uses[input.index()].last() != Some(&id) {
                    uses[input.index()].push(id);
                }
            });
        }
        for (id, node) in self.graph.nodes() {
            let (mut recorded, found) = (node.users.clone(), &mut uses[id.index()]);
            sort_by(&mut recorded, NodeId::cmp);
            sort_by(found, NodeId::cmp);
            if found[..] != recorded[..] {
                self.add(id, "the recorded users are not the nodes that use it");
            }
        }
    }

    fn path(&mut self, id: NodeId, node: &Node, owner: &dyn Owner) {
        let path = node.target().name();
        match node.op() {
            Opcode::GetAttr if !owner.has_attr(path) => {
                self.add(id, format!("there is no parameter or buffer at `{path}`"));
            }
            Opcode::CallModule if !owner.has_module(path) => self.add(id, format!("there is no module at `{path}`")),
            _ => {}
        }
    }
}

fn report(violations: &[Violation]) -> Result<()> {
    if violations.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = violations.iter().map(ToString::to_string).collect();
    let count = violations.len();
    let places = if count == 1 { "a rule in 1 place".to_owned() } else { format!("rules in {count} places") };
    Err(Error::new(ErrorKind::Graph, format!("the graph breaks {places}:\n{}", lines.join("\n"))))
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  in {}", self.message, self.line)
    }
}

#[cfg(test)]
mod tests;
