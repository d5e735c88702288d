//! Random graphs in random parts: the same numbers, and one graph again.

use std::collections::HashSet;

use fx_core::graph::{Graph, NodeArg, NodeId, Opcode};
use fx_core::graph_module::State;
use fx_core::passes::{CapabilityBasedPartitioner, SplitSettings, inline_submodules, split_by_support, split_module};
use fx_core::{Arg, GraphModule, Parameter, Tensor, ops};
use proptest::prelude::*;
use proptest::sample::Index;

/// A node: what it calls, and which nodes before it it uses.
type Recipe = (u8, Index, Index);

fn build(recipes: &[Recipe], outputs: &[Index]) -> GraphModule {
    let mut graph = Graph::new();
    let mut values = vec![graph.placeholder("x"), graph.placeholder("y"), graph.get_attr("weight")];
    for (kind, first, second) in recipes {
        let (a, b) = (*first.get(&values), *second.get(&values));
        let id = match kind % 5 {
            0 => graph.call_function(ops::add, [a, b]),
            1 => graph.call_function(ops::maximum, [a, b]),
            2 => graph.call_method("neg", [a]),
            3 => graph.call_method("relu", [a]),
            _ => graph.call_function(ops::mul, [NodeArg::from(a), Arg::Float(0.5)]),
        };
        values.push(id);
    }
    let outputs: Vec<NodeArg> = outputs.iter().map(|index| NodeArg::Value(*index.get(&values))).collect();
    graph.output(Arg::Tuple(outputs));
    let mut state = State::new();
    state.parameters.insert("weight".to_owned(), Parameter::new(Tensor::from([0.5_f32, -1.0])));
    GraphModule::with_state(graph, state, "Random").expect("the graph is in order")
}

fn run(module: &GraphModule) -> Arg<Tensor> {
    let inputs = [[1.0_f32, -2.0], [3.0, 0.25]].map(|elements| Arg::Value(Tensor::from(elements)));
    module.run(inputs.into()).expect("it runs")
}

/// The calls of a graph as a set, for an order that may differ.
fn calls(module: &GraphModule) -> HashSet<String> {
    module.graph().nodes().map(|(id, _)| module.graph().format_node(id)).collect()
}

fn check(module: &GraphModule, split: &GraphModule) -> Result<(), TestCaseError> {
    prop_assert_eq!(run(split), run(module));
    let whole = inline_submodules(split).expect("it goes together");
    prop_assert_eq!(calls(&whole), calls(module));
    prop_assert_eq!(run(&whole), run(module));
    Ok(())
}

fn recipes() -> impl Strategy<Value = Vec<Recipe>> {
    prop::collection::vec((any::<u8>(), any::<Index>(), any::<Index>()), 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_of_any_kind(
        recipes in recipes(),
        outputs in prop::collection::vec(any::<Index>(), 1..4),
        parts in prop::collection::vec(0_usize..4, 25),
    ) {
        let module = build(&recipes, &outputs);
        // Parts in the order of the graph never meet in a cycle.
        let mut ordered = parts.clone();
        ordered.sort_unstable();
        let mut next = ordered.into_iter();
        let split = split_module(&module, |_, _| next.next()).expect("parts follow each other");
        check(&module, &split)?;
        // Any parts do, or are refused because of a cycle.
        let mut next = parts.into_iter();
        match split_module(&module, |_, _| next.next().filter(|part| *part > 0)) {
            Ok(split) => check(&module, &split)?,
            Err(error) => prop_assert!(error.message().starts_with("a cycle exists between partitions: "), "{}", error),
        }
    }

    #[test]
    fn any_support_can_be_partitioned(
        recipes in recipes(),
        outputs in prop::collection::vec(any::<Index>(), 1..4),
        supported in prop::collection::vec(any::<bool>(), 25),
        horizontal in any::<bool>(),
        single in any::<bool>(),
    ) {
        let module = build(&recipes, &outputs);
        let calls: Vec<NodeId> = module.graph().nodes().filter(|(_, node)| node.op() != Opcode::Placeholder).map(|(id, _)| id).collect();
        let support = |_: &GraphModule, id: NodeId| calls.iter().position(|have| *have == id).is_some_and(|place| supported.get(place) == Some(&true));
        let mut partitioner = CapabilityBasedPartitioner::new(&module, support).allows_single_node_partition(single);
        if !horizontal {
            partitioner = partitioner.skip_horizontal_fusion();
        }
        let partitions = partitioner.propose_partitions();
        prop_assert!(partitions.iter().flat_map(|part| &part.nodes).all(|id| support(&module, *id)));
        check(&module, &partitioner.fuse_partitions(&partitions).expect("there are no cycles"))?;
        check(&module, &split_by_support(&module, support, SplitSettings::default()).expect("there are no cycles"))?;
    }
}
