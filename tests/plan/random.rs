//! Random graphs of random shapes: a plan gives what the interpreter gives, with rounding errors of the same size, and the same for any
//! number of threads.

mod blocks;
mod calls;
mod graph;
mod places;

use std::collections::HashSet;
use std::fmt;

use fx::graph_module::State;
use fx::passes::quantize::Observer;
use fx::passes::{QConfigMapping, optimize, prepare_fx};
use fx::prelude::*;
use fx::{Arg, Buffer, GraphModule, Interpreter};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use blocks::*;
use calls::*;
use graph::{Builder, Choices, Operand};
use places::*;

use super::quantized::{RANGES, config};

/// Adds a call to a graph, if there is something that it can be called with.
type Recipe = fn(&mut Builder, &mut Choices<'_>) -> Option<Operand>;

/// What is named several times is more frequent.
const RECIPES: [Recipe; 45] = [
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
struct Case {
    module: GraphModule,
    inputs: Vec<Tensor>,
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
fn bytes() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 32), 2..20)
}

fn cases() -> impl Strategy<Value = Case> {
    bytes().prop_map(|bytes| grown(&bytes).finish(&mut Choices(&bytes[0])))
}

fn grown(bytes: &[Vec<u8>]) -> Builder {
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

fn tensors(result: &Arg<Tensor>) -> Vec<Tensor> {
    result.as_items().expect("a tuple").iter().filter_map(|item| item.as_value().cloned()).collect()
}

fn args(inputs: &[Tensor]) -> Vec<Arg<Tensor>> {
    inputs.iter().cloned().map(Arg::Value).collect()
}

/// What a graph gives when it is run op by op.
fn interpreted(module: &GraphModule, inputs: &[Tensor]) -> fx::Result<Vec<Tensor>> {
    Ok(tensors(&Interpreter::new(module).run(args(inputs))?))
}

/// What its plan gives.
fn planned(module: &GraphModule, inputs: &[Tensor]) -> fx::Result<Vec<Tensor>> {
    Ok(tensors(&module.run(args(inputs))?))
}

/// The same with one thread and with all. The second run finds memory as the first has left it.
fn of_threads(module: &GraphModule, inputs: &[Tensor]) -> [Vec<Tensor>; 2] {
    [1, 0].map(|threads| {
        fx::set_num_threads(threads);
        planned(module, inputs).expect("the interpreter runs it")
    })
}

/// What it gives in f64, with the numbers of the state rounded to a type before.
fn exact(module: &GraphModule, inputs: &[Tensor], rounded: DType) -> Vec<Tensor> {
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
fn errors(found: &[Tensor], exact: &[Tensor]) -> Vec<f64> {
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

/// How far each output is off, as a mean of its elements: where numbers become integers, those between two may become either.
fn apart(found: &[Tensor], wanted: &[Tensor]) -> Vec<f64> {
    let mean = |x: &Tensor| x.to_dtype(DType::F64).abs().mean().item().to_f64();
    found.iter().zip(wanted).map(|(found, wanted)| mean(&(found - wanted)) / mean(wanted).max(1.0)).collect()
}

/// Whether errors are of the size that rounding alone makes, or at most some number.
fn require(found: &[f64], rounding: &[f64], most: f64, what: &str) -> Result<(), TestCaseError> {
    for (index, (found, rounding)) in found.iter().zip(rounding).enumerate() {
        prop_assert!(
            *found <= most + 8.0 * rounding,
            "{what}: output {index} is off by {found:e}, where rounding makes {rounding:e}"
        );
    }
    Ok(())
}

/// A call that is refused leaves a graph without what it was to hold.
#[test]
fn every_recipe_makes_something_of_every_op_that_it_names() {
    let mut runner = TestRunner::deterministic();
    let (mut made, mut refused, mut idle) =
        (HashSet::new(), HashSet::new(), (0..RECIPES.len()).collect::<HashSet<_>>());
    for _ in 0..300 {
        let bytes = bytes().new_tree(&mut runner).expect("bytes are never rejected").current();
        let mut builder = grown(&bytes);
        idle.retain(|recipe| RECIPES[*recipe](&mut builder, &mut Choices(&bytes[0])).is_none());
        refused.extend(builder.refused.iter().map(|function| function.name()));
        made.extend(builder.graph.nodes().filter_map(|(_, node)| node.function()).map(|function| function.name()));
    }
    assert!(idle.is_empty(), "recipes {idle:?} make nothing");
    assert!(refused.is_subset(&made), "{:?} are never called", refused.difference(&made));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_give_what_the_interpreter_gives(case in cases()) {
        let Case { module, inputs } = &case;
        let wanted = exact(module, inputs, DType::F32);
        let rounding = errors(&interpreted(module, inputs).unwrap(), &wanted);
        require(&rounding, &vec![0.0; wanted.len()], 1e-2, "interpreted")?;

        let mut fast = module.clone();
        optimize(&mut fast).unwrap();
        require(&errors(&interpreted(&fast, inputs).unwrap(), &wanted), &rounding, 1e-4, "optimised, interpreted")?;
        for (module, what) in [(module, "planned"), (&fast, "optimised, planned")] {
            let [one, many] = of_threads(module, inputs);
            require(&errors(&one, &wanted), &rounding, 1e-4, what)?;
            prop_assert_eq!(one, many, "{}: one thread gives another result", what);
        }

        // In half floats it is off as with weights that were rounded.
        let rounding = errors(&exact(module, inputs, DType::F16), &wanted);
        fast.set_inference_precision(DType::F16).unwrap();
        require(&errors(&planned(&fast, inputs).unwrap(), &wanted), &rounding, 1e-2, "with weights in f16")?;

        // Where the interpreter gives something for twice as many rows, so does the plan, and else both give an error.
        let twice: Vec<Tensor> = inputs.iter().map(|x| Tensor::cat([x, x])).collect();
        match (interpreted(module, &twice), planned(module, &twice)) {
            (Ok(wanted), Ok(found)) => require(&errors(&found, &wanted), &vec![0.0; wanted.len()], 1e-3, "twice")?,
            (Err(_), Err(_)) => {}
            (wanted, found) => prop_assert!(false, "twice as many rows: {wanted:?}, {found:?}"),
        }
    }

    #[test]
    fn random_graphs_of_integers_give_what_their_reference_form_gives(
        case in cases(),
        observer in prop::sample::select(vec![Observer::MinMax, Observer::Dynamic]),
        range in prop::sample::select(RANGES.to_vec()),
    ) {
        let Case { module, inputs } = &case;
        let mapping = QConfigMapping::new().set_global(config(observer, range));
        let mut prepared = prepare_fx(module, &mapping).unwrap();
        if prepared.layer_count() == 0 {
            return Ok(());
        }
        prepared.run(args(inputs)).unwrap();
        let quantized = prepared.convert_fx().unwrap();
        let wanted = interpreted(&quantized, inputs).unwrap();
        let rounding = apart(&wanted, &interpreted(module, inputs).unwrap());
        let mut fast = quantized.clone();
        optimize(&mut fast).unwrap();
        for (module, what) in [(&quantized, "planned"), (&fast, "optimised, planned")] {
            let [one, many] = of_threads(module, inputs);
            for (index, (off, rounding)) in apart(&one, &wanted).into_iter().zip(&rounding).enumerate() {
                prop_assert!(
                    off <= 1e-4 + 2.0 * rounding,
                    "{what}: output {index} is off by {off:e}, where integers make {rounding:e}"
                );
            }
            prop_assert_eq!(one, many, "{}: one thread gives another result", what);
        }
    }
}
