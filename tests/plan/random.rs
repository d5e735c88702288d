//! Random graphs of random shapes: a plan gives what the interpreter gives, with rounding errors of the same size, and the same for any
//! number of threads.

use std::collections::HashSet;

use fx::GraphModule;
use fx::passes::quantize::Observer;
use fx::passes::{QConfigMapping, optimize, prepare_fx};
use fx::prelude::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::quantized::{RANGES, config};
use super::random_graphs::{
    Case, Choices, RECIPES, a_quarter, args, bytes, cases, errors, exact, grown, interpreted, require, tensors,
};

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

/// A step of eight bits between 0 and 1.
const STEP: f64 = 1.0 / 256.0;

/// How far each output is off, as a mean of its elements: where numbers become integers, those between two may become either.
fn apart(found: &[Tensor], wanted: &[Tensor]) -> Vec<f64> {
    let mean = |x: &Tensor| x.to_dtype(DType::F64).abs().mean().item().to_f64();
    found.iter().zip(wanted).map(|(found, wanted)| mean(&(found - wanted)) / mean(wanted).max(1.0)).collect()
}

/// A call that is refused leaves a graph without what it was to hold.
#[test]
fn every_recipe_makes_something_of_every_op_that_it_names() {
    let mut runner = TestRunner::deterministic();
    let (mut made, mut refused) = (HashSet::new(), HashSet::new());
    let mut idle: HashSet<usize> = (0..RECIPES.len()).collect();
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
}

proptest! {
    #![proptest_config(a_quarter())]

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
                    off <= STEP + 2.0 * rounding,
                    "{what}: output {index} is off by {off:e}, where integers make {rounding:e}"
                );
            }
            prop_assert_eq!(one, many, "{}: one thread gives another result", what);
        }
    }
}
