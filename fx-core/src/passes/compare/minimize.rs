//! Two ways to run one model, held against each other node by node.

use rustc_hash::FxHashSet;

use super::{Difference, differ, difference};
use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{NodeId, Opcode};
use crate::graph_module::{GraphModule, Inputs};
use crate::interpreter::{Hooks, Interpreter, Run};
use crate::ops::Tolerance;
use crate::passes::extract::submodule;
use crate::tensor::Tensor;

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
        let one = submodule(run.module(), graph[id].name(), &[id], &[id], &FxHashSet::default())?;
        let inputs = one.inputs.iter().map(|input| run.fetch(&Arg::Value(*input))).collect::<Result<Vec<_>>>()?;
        let value_a = (self.run_a)(&one.module, inputs.clone())?;
        let value_b = (self.run_b)(&one.module, inputs)?;
        let message = differ(&value_a, &value_b, self.tolerance);
        self.found.extend(message.map(|message| difference(graph, id, graph, id, message)));
        Ok(value_a)
    }
}
