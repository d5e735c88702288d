//! Where two models begin to differ: torch.fx's minimizer.
//!
//! - [`compare`] runs two graphs on the same inputs and compares the values of the nodes that both have: the edit or the
//!   pass between them is at the first that differs.
//! - [`bisect`] finds that node in a few runs of the compiled plans, for models whose values do not fit in memory at once.
//! - [`minimize`] compares two ways to run one graph, node by node on the same inputs, so that an error does not spread:
//!   it names every node that one of the ways gets wrong.

mod bisect;
mod minimize;

use std::fmt;

use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, NodeId, Opcode};
use crate::graph_module::{GraphModule, Inputs};
use crate::interpreter::Interpreter;
use crate::ops::Tolerance;
use crate::tensor::Tensor;
use crate::value::Meta;
pub use bisect::{bisect, prefix};
pub use minimize::minimize;

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

/// The calls of the same name in two graphs, and the outputs, in the order of the second graph.
fn pairs(a: &Graph, b: &Graph) -> Vec<(NodeId, NodeId)> {
    let calls = |op| matches!(op, Opcode::CallFunction | Opcode::CallMethod | Opcode::CallModule);
    let in_a = |name: &str| a.find(name).filter(|id| calls(a[*id].op()));
    let same = b.nodes().filter(|(_, node)| calls(node.op()));
    let same = same.filter_map(|(id, node)| in_a(node.name()).map(|in_a| (in_a, id)));
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
