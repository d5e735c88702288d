//! Shape propagation: torch.fx's `ShapeProp` and `FakeTensorProp`.
//!
//! [`propagate_shapes`] runs the graph and notes what each node gave; [`infer_shapes`] does so without data, on
//! [`Meta`] inputs whose sizes may be symbols. Both leave an [`Arg<Meta>`](Arg) in the metadata of each node, which
//! [`Metadata::shape`](crate::graph::Metadata::shape) reads and generated code shows; a run leaves [`Strides`] too.

use crate::arg::Arg;
use crate::error::Result;
use crate::graph::NodeId;
use crate::graph_module::{GraphModule, Inputs};
use crate::interpreter::{Hooks, Interpretable, Interpreter, Run};
use crate::tensor::Tensor;
use crate::value::Meta;
use crate::value::assume::{self, Assumptions};

/// The strides of a tensor that a run gave, in elements: in a node's metadata as an `Arg<Strides>`, of the structure of
/// its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strides(pub Vec<usize>);

/// Runs the graph on tensors and notes the element type, shape and strides of every value; gives the output.
///
/// ```
/// use fx_core::{GraphModule, graph::Graph, ops, passes, prelude::*};
///
/// let mut graph = Graph::new();
/// let x = graph.placeholder("x");
/// let y = graph.call_function(ops::add, [x, x]);
/// graph.output(y);
/// let mut module = GraphModule::with_state(graph, Default::default(), "Double")?;
/// passes::propagate_shapes(&mut module, Tensor::zeros([2, 3]))?;
/// assert_eq!(format!("{:?}", module.graph()[y].meta().shape()), "Some(Value(f32[2, 3]))");
/// # Ok::<(), fx_core::Error>(())
/// ```
///
/// # Errors
/// If the inputs do not fit, or a node fails; the error names the node, its shapes and the user's line.
pub fn propagate_shapes(module: &mut GraphModule, inputs: impl Inputs) -> Result<Arg<Tensor>> {
    let mut found = Vec::new();
    let output = record(module, inputs.into_args(), |id, value: &Arg<Tensor>| {
        let strides = value.map(&mut |tensor| Strides(tensor.strides().to_vec()));
        found.push((id, value.map(&mut |tensor| Meta::from(tensor)), strides));
    })?;
    module.edit(|graph| {
        for (id, shape, strides) in found {
            if let Some(meta) = graph.meta_mut(id) {
                meta.insert(shape);
                meta.insert(strides);
            }
        }
        Ok(())
    })?;
    Ok(output)
}

/// What [`infer_shapes`] found beside what it noted.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The element type and shape of the output.
    pub output: Arg<Meta>,
    /// What must hold of the symbols for the model to run: `N = M`.
    pub assumptions: Assumptions,
}

/// Infers the element type and shape of every value without data, and notes them.
///
/// A size that is a symbol (`Dim::symbol("H", 32)`, a multiple of 32) gives shapes such as `f32[N, 64, H/4, W/4]`. Two
/// sizes that must be equal and may be are assumed to be, in the whole graph. A size that is not known is not taken for 1:
/// `squeeze` leaves it, and broadcasting does not repeat it.
///
/// # Errors
/// If the inputs do not fit, or shapes contradict each other or an assumption; the error names the node and the user's
/// line.
pub fn infer_shapes(
    module: &mut GraphModule,
    inputs: impl IntoIterator<Item = impl Into<Arg<Meta>>>,
) -> Result<Inferred> {
    let mut inputs: Vec<_> = inputs.into_iter().map(Into::into).collect();
    let mut assumptions = Assumptions::default();
    let (output, found) = loop {
        let mut found = Vec::new();
        let note = |id, value: &Arg<Meta>| found.push((id, value.clone()));
        let (output, later) = assume::scope(|| record(module, inputs.clone(), note));
        assumptions = assumptions.and(later);
        let output = output.map_err(|error| match assumptions.equal.is_empty() {
            true => error,
            false => error.help(format!("before this it was assumed that {assumptions}")),
        })?;
        // What was assumed of a size may change what came before: `squeeze` takes away a size of 1.
        let known: Vec<_> = inputs.iter().map(|input| resolve(input, &assumptions)).collect();
        if known == inputs {
            break (output, found);
        }
        inputs = known;
    };
    module.edit(|graph| {
        for (id, shape) in &found {
            if let Some(meta) = graph.meta_mut(*id) {
                meta.insert(resolve(shape, &assumptions));
            }
        }
        Ok(())
    })?;
    Ok(Inferred { output: resolve(&output, &assumptions), assumptions })
}

/// The same with every size as far as it is known.
fn resolve(value: &Arg<Meta>, assumptions: &Assumptions) -> Arg<Meta> {
    value.map(&mut |meta| meta.map_sizes(|size| assumptions.resolve(size)))
}

/// Runs the graph and shows `note` every value.
fn record<V: Interpretable>(
    module: &GraphModule,
    inputs: Vec<Arg<V>>,
    note: impl FnMut(NodeId, &Arg<V>),
) -> Result<Arg<V>> {
    Interpreter::with_hooks(module, Record(note)).run(inputs)
}

struct Record<F>(F);

impl<V: Interpretable, F: FnMut(NodeId, &Arg<V>)> Hooks<V> for Record<F> {
    fn run_node(&mut self, run: &mut Run<'_, V>, id: NodeId) -> Result<Arg<V>> {
        let value = run.dispatch(self, id)?;
        (self.0)(id, &value);
        Ok(value)
    }
}
