//! Where two models begin to differ: torch.fx's minimizer.
//!
//! - [`compare`] runs two graphs on the same inputs and compares the values of the nodes that both have: the edit or the
//!   pass between them is at the first that differs.
//! - [`bisect`] finds that node in a few runs of the compiled plans, for models whose values do not fit in memory at once.
//! - [`minimize`] compares two ways to run one graph, node by node on the same inputs, so that an error does not spread:
//!   it names every node that one of the ways gets wrong.

use std::collections::HashSet;
use std::fmt;

use super::extract::submodule;
use crate::arg::Arg;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{Graph, NodeId, Opcode};
use crate::graph_module::{GraphModule, Inputs};
use crate::interpreter::{Hooks, Interpreter, Run};
use crate::ops::Tolerance;
use crate::tensor::Tensor;
use crate::value::Meta;

/// Two values of a node that are not close.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The node's name.
    pub name: String,
    /// Its text form in the first model.
    pub a: String,
    /// Its text form in the second.
    pub b: String,
    /// What differs.
    pub message: String,
    /// The user's source line, if known.
    pub location: Option<String>,
}

/// Runs two models on the same inputs, node by node, and gives the nodes of the same name whose values are not close, in
/// the order of the second model.
///
/// Calls are compared, and the outputs; not inputs or state, which a pass may have changed on purpose.
///
/// # Errors
/// If a model cannot be run on the inputs.
pub fn compare(a: &GraphModule, b: &GraphModule, inputs: impl Inputs, tolerance: Tolerance) -> Result<Vec<Difference>> {
    let inputs = inputs.into_args();
    let values = |module| Interpreter::<Tensor>::new(module).keep_values().run_with_env(inputs.clone());
    let ((output_a, values_a), (output_b, values_b)) = (values(a)?, values(b)?);
    let mut found = Vec::new();
    for (in_a, in_b) in pairs(a.graph(), b.graph()) {
        let value_a = values_a.get(&in_a).unwrap_or(&output_a);
        let value_b = values_b.get(&in_b).unwrap_or(&output_b);
        let message = differ(value_a, value_b, tolerance);
        found.extend(message.map(|message| difference(a.graph(), in_a, b.graph(), in_b, message)));
    }
    Ok(found)
}

/// The first node of the same name at which two models differ, by bisection: models that end there are run by their
/// plans, as many as the logarithm of the number of nodes.
///
/// It relies on that what differs goes on to differ; where a difference vanishes again (in a comparison, say), use
/// [`compare`].
///
/// # Errors
/// If a model cannot be run on the inputs.
pub fn bisect(
    a: &GraphModule,
    b: &GraphModule,
    inputs: impl Inputs,
    tolerance: Tolerance,
) -> Result<Option<Difference>> {
    let inputs = inputs.into_args();
    let pairs = pairs(a.graph(), b.graph());
    let probe = |place: usize| -> Result<Option<String>> {
        let (in_a, in_b) = pairs[place];
        let value_a = prefix(a, in_a)?.run(inputs.clone())?;
        let value_b = prefix(b, in_b)?.run(inputs.clone())?;
        Ok(differ(&value_a, &value_b, tolerance))
    };
    let Some(last) = pairs.len().checked_sub(1) else { return Ok(None) };
    let Some(mut message) = probe(last)? else { return Ok(None) };
    // All before `low` agree, and `high` differs.
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = low + (high - low) / 2;
        match probe(middle)? {
            Some(found) => (high, message) = (middle, found),
            None => low = middle + 1,
        }
    }
    let (in_a, in_b) = pairs[high];
    Ok(Some(difference(a.graph(), in_a, b.graph(), in_b, message)))
}

/// Compares two ways to run a model, `run_a` and `run_b`, one node at a time; gives every node whose results are not
/// close on the inputs that the first way computed.
///
/// # Errors
/// If a node cannot be run in one of the ways.
pub fn minimize(
    module: &GraphModule,
    inputs: impl Inputs,
    tolerance: Tolerance,
    run_a: impl FnMut(&GraphModule, Vec<Arg<Tensor>>) -> Result<Arg<Tensor>>,
    run_b: impl FnMut(&GraphModule, Vec<Arg<Tensor>>) -> Result<Arg<Tensor>>,
) -> Result<Vec<Difference>> {
    let mut both = Both { run_a, run_b, tolerance, found: Vec::new() };
    Interpreter::with_hooks(module, &mut both).run(inputs.into_args())?;
    Ok(both.found)
}

/// The model up to a node: its output is that node's value, and what that does not need is left out.
///
/// # Errors
/// If the node is not in the graph.
pub fn prefix(module: &GraphModule, node: NodeId) -> Result<GraphModule> {
    let mut prefix = module.clone();
    prefix.edit(|graph| {
        let op = graph.get(node).map(|node| node.op());
        let op = op.ok_or_else(|| Error::new(ErrorKind::Graph, format!("node {node} is not in the graph")))?;
        match graph.output_node() {
            _ if op == Opcode::Output => {}
            Some(output) => graph.set_args(output, vec![Arg::Value(node)]),
            None => drop(graph.output(node)),
        }
        graph.eliminate_dead_code(|_, _| false);
        Ok(())
    })?;
    prefix.delete_unused_state();
    Ok(prefix)
}

struct Both<A, B> {
    run_a: A,
    run_b: B,
    tolerance: Tolerance,
    found: Vec<Difference>,
}

impl<A, B> Hooks<Tensor> for &mut Both<A, B>
where
    A: FnMut(&GraphModule, Vec<Arg<Tensor>>) -> Result<Arg<Tensor>>,
    B: FnMut(&GraphModule, Vec<Arg<Tensor>>) -> Result<Arg<Tensor>>,
{
    fn run_node(&mut self, run: &mut Run<'_, Tensor>, id: NodeId) -> Result<Arg<Tensor>> {
        let graph = run.module().graph();
        if matches!(graph[id].op(), Opcode::Placeholder | Opcode::GetAttr | Opcode::Output) {
            return run.dispatch(self, id);
        }
        let one = submodule(run.module(), graph[id].name(), &[id], &[id], &HashSet::new())?;
        let inputs = one.inputs.iter().map(|input| run.fetch(&Arg::Value(*input))).collect::<Result<Vec<_>>>()?;
        let value_a = (self.run_a)(&one.module, inputs.clone())?;
        let value_b = (self.run_b)(&one.module, inputs)?;
        let message = differ(&value_a, &value_b, self.tolerance);
        self.found.extend(message.map(|message| difference(graph, id, graph, id, message)));
        Ok(value_a)
    }
}

/// The calls of the same name in two graphs, and the outputs, in the order of the second graph.
fn pairs(a: &Graph, b: &Graph) -> Vec<(NodeId, NodeId)> {
    let calls = |op| matches!(op, Opcode::CallFunction | Opcode::CallMethod | Opcode::CallModule);
    let by_name: std::collections::HashMap<&str, NodeId> =
        a.nodes().filter(|(_, node)| calls(node.op())).map(|(id, node)| (node.name(), id)).collect();
    let same = b.nodes().filter(|(_, node)| calls(node.op()));
    let same = same.filter_map(|(id, node)| by_name.get(node.name()).map(|in_a| (*in_a, id)));
    same.chain(a.output_node().zip(b.output_node())).collect()
}

/// What is not close in two values, if something is not.
fn differ(a: &Arg<Tensor>, b: &Arg<Tensor>, tolerance: Tolerance) -> Option<String> {
    match (a, b) {
        (Arg::Value(a), Arg::Value(b)) => {
            let (meta_a, meta_b) = (Meta::from(a), Meta::from(b));
            if meta_a != meta_b {
                return Some(format!("{meta_a} is not {meta_b}"));
            }
            let close = a.all_close(b, tolerance.rtol, tolerance.atol);
            (!close).then(|| format!("{meta_a} is off by up to {:.3e}", a.max_abs_diff(b)))
        }
        (Arg::Tuple(a), Arg::Tuple(b)) | (Arg::List(a), Arg::List(b)) if a.len() == b.len() => {
            let different = |(i, (a, b))| differ(a, b, tolerance).map(|message| format!("element {i}: {message}"));
            a.iter().zip(b).enumerate().find_map(different)
        }
        _ => (a != b).then(|| format!("{} is not {}", a.kind(), b.kind())),
    }
}

fn difference(a: &Graph, in_a: NodeId, b: &Graph, in_b: NodeId, message: String) -> Difference {
    let location = b[in_b].meta().location().or_else(|| a[in_a].meta().location());
    Difference {
        name: b[in_b].name().to_owned(),
        a: a.format_node(in_a),
        b: b.format_node(in_b),
        message,
        location: location.map(ToString::to_string),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}\n  in {}", self.name, self.message, self.a)?;
        if self.a != self.b {
            write!(f, "\n  and {}", self.b)?;
        }
        match &self.location {
            Some(location) => write!(f, "\n  at {location}"),
            None => Ok(()),
        }
    }
}
