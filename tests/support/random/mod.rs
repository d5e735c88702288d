//! Random graphs of random shapes, which compute something.

mod blocks;
mod calls;
mod graph;
mod places;

use std::fmt;

use fx::graph_module::State;
use fx::prelude::*;
use fx::{Arg, Buffer, GraphModule, Interpreter};
use proptest::prelude::*;

use blocks::*;
use calls::*;
use graph::Operand;
pub(crate) use graph::{Builder, Choices};
use places::*;

/// Adds a call to a graph, if there is something that it can be called with.
pub(crate) type Recipe = fn(&mut Builder, &mut Choices<'_>) -> Option<Operand>;

/// What is named several times is more frequent.
pub(crate) const RECIPES: [Recipe; 45] = [
    unary,
    unary,
    unary,
    binary,
    binary,
    scalar,
    broadcast,
    conv,
    conv,
    conv,
    linear,
    linear,
    product,
    normalisation,
    pool,
    softmax,
    reduce,
    shape,
    shape,
    part,
    join,
    resize,
    attention,
    recurrent,
    residual,
    residual,
    inverted,
    inverted,
    excite,
    heads,
    heads,
    rotary,
    look_up,
    look_up,
    contraction,
    masked,
    ordered,
    branches,
    pyramid,
    shuffled,
    patches,
    tokens,
    tokens,
    windows,
    cached,
];

/// A random graph and what it is called with, which prints as the graph with shapes.
pub(crate) struct Case {
    pub(crate) module: GraphModule,
    pub(crate) inputs: Vec<Tensor>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = |x: &Tensor| format!("{:?}", x.shape());
        writeln!(f, "inputs {:?}", self.inputs.iter().map(shape).collect::<Vec<_>>())?;
        let state = &self.module.state().buffers;
        writeln!(f, "state {:?}", state.iter().map(|(path, x)| format!("{path}{:?}", x.shape())).collect::<Vec<_>>())?;
        write!(f, "{}", self.module.graph())
    }
}

/// An input's bytes, and those of each call.
pub(crate) fn bytes() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 32), 2..20)
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    bytes().prop_map(|bytes| grown(&bytes).finish(&mut Choices(&bytes[0])))
}

pub(crate) fn grown(bytes: &[Vec<u8>]) -> Builder {
    let mut builder = Builder::default();
    let (first, calls) = bytes.split_first().expect("there is an input");
    let mut choices = Choices(first);
    for _ in 0..1 + choices.below(3) {
        builder.input(&mut choices);
    }
    for bytes in calls {
        let mut choices = Choices(bytes);
        let recipe = choices.of(&RECIPES);
        let made = recipe(&mut builder, &mut choices);
        builder.values.extend(made);
    }
    builder
}

/// A quarter of the cases that there are by default: each looks at a graph in several ways.
pub(crate) fn a_quarter() -> ProptestConfig {
    let all = ProptestConfig::default();
    ProptestConfig { cases: all.cases / 4, failure_persistence: None, ..all }
}

pub(crate) fn tensors(result: &Arg<Tensor>) -> Vec<Tensor> {
    result.as_items().expect("a tuple").iter().filter_map(|item| item.as_value().cloned()).collect()
}

pub(crate) fn args(inputs: &[Tensor]) -> Vec<Arg<Tensor>> {
    inputs.iter().cloned().map(Arg::Value).collect()
}

/// What a graph gives when it is run op by op.
pub(crate) fn interpreted(module: &GraphModule, inputs: &[Tensor]) -> fx::Result<Vec<Tensor>> {
    Ok(tensors(&Interpreter::new(module).run(args(inputs))?))
}

/// What it gives in f64, with the numbers of the state rounded to a type before.
pub(crate) fn exact(module: &GraphModule, inputs: &[Tensor], rounded: DType) -> Vec<Tensor> {
    let double = |x: &Tensor| match x.dtype() {
        DType::F32 => x.to_dtype(rounded).to_dtype(DType::F64),
        _ => x.clone(),
    };
    let mut state = State::new();
    for (path, buffer) in &module.state().buffers {
        state.buffers.insert(path.clone(), Buffer::new(double(&buffer.tensor())));
    }
    let module = GraphModule::with_state(module.graph().clone(), state, "Double").expect("it was in order");
    let inputs: Vec<Tensor> = inputs.iter().map(|x| x.to_dtype(DType::F64)).collect();
    interpreted(&module, &inputs).expect("f32 could be run")
}

/// How far each output is off, as a part of its largest element, which counts as 1 at least.
pub(crate) fn errors(found: &[Tensor], exact: &[Tensor]) -> Vec<f64> {
    let error = |(found, exact): (&Tensor, &Tensor)| {
        assert_eq!(found.shape(), exact.shape());
        match exact.numel() {
            0 => 0.0,
            _ => {
                let exact = exact.to_dtype(DType::F64);
                found.to_dtype(DType::F64).max_abs_diff(&exact) / exact.abs().max().item().to_f64().max(1.0)
            }
        }
    };
    assert_eq!(found.len(), exact.len());
    found.iter().zip(exact).map(error).collect()
}

/// Whether errors are of the size that rounding alone makes, or at most some number.
pub(crate) fn require(found: &[f64], rounding: &[f64], most: f64, what: &str) -> Result<(), TestCaseError> {
    for (index, (found, rounding)) in found.iter().zip(rounding).enumerate() {
        prop_assert!(
            *found <= most + 8.0 * rounding,
            "{what}: output {index} is off by {found:e}, where rounding makes {rounding:e}"
        );
    }
    Ok(())
}
