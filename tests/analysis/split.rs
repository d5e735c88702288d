//! Models in parts: by choice, by tag, by what a backend can run; and in one piece again.

use fx::graph::{Graph, NodeId};
use fx::passes::{
    CapabilityBasedPartitioner, SplitSettings, Tag, any_chain, chain, decline_input_dtype, decline_names, infer_shapes,
    inline_submodules, split_by_support, split_by_tags, split_module,
};
use fx::prelude::*;
use fx::{Arg, GraphModule, Interpreter, Module, nn};

use super::{check, check_close, image, small};

fn name(graph: &Graph, id: NodeId) -> &str {
    graph[id].name()
}

/// A part of a split model.
fn part<'a>(module: &'a GraphModule, path: &str) -> &'a GraphModule {
    module.state().modules[path].as_graph_module().expect("it is a captured model")
}

/// Checks that two models give the same for an input.
#[track_caller]
fn same(a: &GraphModule, b: &GraphModule, x: &Tensor) {
    let expected = a.run(vec![Arg::Value(x.clone())]).unwrap();
    check_close(&b.run(vec![Arg::Value(x.clone())]).unwrap(), &expected);
    check_close(&Interpreter::new(b).run(vec![Arg::Value(x.clone())]).unwrap(), &expected);
}

#[test]
fn a_model_is_split_by_a_callback() {
    let module = small();
    let split = split_module(&module, |graph, id| usize::from(!name(graph, id).starts_with("stem"))).unwrap();
    check(
        split.graph(),
        "graph():
    %x : [num_users=1] = placeholder[target=x]
    %submod_0 : [num_users=1] = call_module[target=submod_0](args = (%x,), kwargs = {})
    %submod_1 : [num_users=1] = call_module[target=submod_1](args = (%submod_0,), kwargs = {})
    return submod_1",
    );
    check(
        part(&split, "submod_1").graph(),
        "graph():
    %stem_bn : [num_users=1] = placeholder[target=stem_bn]
    %relu : [num_users=1] = call_method[target=relu](args = (%stem_bn,), kwargs = {})
    %mean : [num_users=1] = call_method[target=mean](args = (%relu,), kwargs = {dim: (2, 3)})
    %fc : [num_users=1] = call_module[target=fc](args = (%mean,), kwargs = {})
    return fc",
    );
    assert!(split.state_dict().contains_key("submod_0.stem.conv.weight"), "paths go below the part's");
    same(&module, &split, &Tensor::rand([2, 3, 8, 8]));
}

#[test]
fn several_outputs_are_taken_by_position() {
    let module = fx::trace_fn!(|x, y| {
        let (a, b) = (&x + &y, &x * &y);
        (a.relu() + &b, a)
    })
    .unwrap();
    let split = split_module(&module, |graph, id| usize::from(!["add", "mul"].contains(&name(graph, id)))).unwrap();
    check(
        split.graph(),
        "graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : [num_users=1] = placeholder[target=y]
    %submod_0 : [num_users=2] = call_module[target=submod_0](args = (%x, %y), kwargs = {})
    %getitem : [num_users=2] = call_function[target=getitem](args = (%submod_0, 0), kwargs = {})
    %getitem_1 : [num_users=1] = call_function[target=getitem](args = (%submod_0, 1), kwargs = {})
    %submod_1 : [num_users=1] = call_module[target=submod_1](args = (%getitem, %getitem_1), kwargs = {})
    return (submod_1, getitem)",
    );
    let args = || vec![Arg::Value(Tensor::ones([2])), Arg::Value(Tensor::ones([2]))];
    assert_eq!(split.run(args()).unwrap(), module.run(args()).unwrap());
}

#[test]
fn sizes_stay_sizes_between_parts() {
    let module = fx::trace_fn!(|x| {
        let rows = x.size(0);
        (x.relu() + 1.0).reshape((rows, -1))
    })
    .unwrap();
    let split = split_module(&module, |graph, id| usize::from(name(graph, id) == "reshape")).unwrap();
    let code = split.code();
    assert!(code.contains("-> (SymInt<Tensor>, Tensor) {"), "{code}");
    assert!(code.contains("pub fn forward(&self, add: Tensor, size: SymInt<Tensor>) -> Tensor {"), "{code}");
    same(&module, &split, &Tensor::rand([2, 3, 4]));
}

#[test]
fn state_goes_with_its_users() {
    let shared = Parameter::new(Tensor::ones([2]));
    let module = fx::trace_fn!(|x| {
        let y = x + &shared;
        y.relu() * &shared
    })
    .unwrap();
    let split = split_module(&module, |graph, id| usize::from(name(graph, id) == "mul")).unwrap();
    assert!(split.graph().find_nodes(Opcode::GetAttr, "_parameter0").is_empty());
    for path in ["submod_0", "submod_1"] {
        assert_eq!(part(&split, path).state().parameters["_parameter0"].id(), shared.id(), "the state is shared");
    }
    same(&module, &split, &Tensor::rand([2]));
}

#[test]
fn what_no_part_has_stays() {
    let module = small();
    let split = split_module(&module, |graph, id| (name(graph, id) == "relu").then_some(7)).unwrap();
    check(
        split.graph(),
        "graph():
    %x : [num_users=1] = placeholder[target=x]
    %stem_conv : [num_users=1] = call_module[target=stem.conv](args = (%x,), kwargs = {})
    %stem_bn : [num_users=1] = call_module[target=stem.bn](args = (%stem_conv,), kwargs = {})
    %submod_7 : [num_users=1] = call_module[target=submod_7](args = (%stem_bn,), kwargs = {})
    %mean : [num_users=1] = call_method[target=mean](args = (%submod_7,), kwargs = {dim: (2, 3)})
    %fc : [num_users=1] = call_module[target=fc](args = (%mean,), kwargs = {})
    return fc",
    );
}

#[test]
fn parts_must_not_depend_on_each_other() {
    let module = small();
    let error = split_module(&module, |graph, id| usize::from(name(graph, id) == "stem_bn")).unwrap_err();
    check(
        error,
        "a cycle exists between partitions: submod_0 -> submod_1 -> submod_0\n  \
         help: a node that lies between two nodes of a partition belongs to it",
    );
    let error = split_module(&module, |graph, id| ["stem_conv", "fc"].contains(&name(graph, id)).then_some(0));
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("a cycle exists between partitions: submod_0 -> %stem_bn -> %relu -> %mean -> submod_0"),
        "{error}"
    );
}

#[test]
fn parts_come_in_the_order_of_their_needs() {
    // `neg` comes before `add` in the graph, but its part needs the other's.
    let module = fx::trace_fn!(|x| {
        let (a, b) = (x.neg(), x.exp());
        (b + 1.0) * a
    })
    .unwrap();
    let split = split_module(&module, |graph, id| usize::from(["neg", "mul"].contains(&name(graph, id)))).unwrap();
    let order: Vec<_> = split.graph().nodes().map(|(_, node)| node.name().to_owned()).collect();
    assert_eq!(order, ["x", "submod_0", "submod_1", "output"]);
    same(&module, &split, &Tensor::rand([2]));
}

fn tagged(tags: &[(&str, &str)]) -> GraphModule {
    let mut module = small();
    module
        .edit(|graph| {
            for (name, tag) in tags {
                let id = graph.find(name).unwrap();
                graph.meta_mut(id).unwrap().insert(Tag((*tag).to_owned()));
            }
            Ok(())
        })
        .unwrap();
    module
}

#[test]
fn a_model_is_split_by_tags() {
    let tags = [("stem_conv", "left"), ("stem_bn", "left"), ("relu", "left"), ("mean", "right"), ("fc", "right")];
    let module = tagged(&tags);
    let split = split_by_tags(&module, &["left", "unused", "right"]).unwrap();
    let calls: Vec<_> = split.graph().nodes().map(|(_, node)| node.target().name().to_owned()).collect();
    assert_eq!(calls, ["x", "left", "right", "output"]);
    same(&module, &split, &Tensor::rand([2, 3, 8, 8]));

    let error = split_by_tags(&module, &["right", "left"]).unwrap_err().to_string();
    assert!(error.starts_with("the tag `right` comes before `left`, the tag of its input %relu"), "{error}");
    let error = split_by_tags(&module, &["left"]).unwrap_err().to_string();
    assert!(error.starts_with("the tag `right` is not among [\"left\"]"), "{error}");
    let error = split_by_tags(&tagged(&tags[..4]), &["left", "right"]).unwrap_err().to_string();
    assert!(error.starts_with("%fc has no tag"), "{error}");
}

#[test]
fn a_split_model_is_a_model() {
    let module = small();
    let split = split_module(&module, |graph, id| usize::from(!name(graph, id).starts_with("stem"))).unwrap();
    // It prints as code with a struct for each part, and can be traced, which goes through the parts.
    let code = split.code();
    assert!(code.contains("pub struct SmallSubmod0") && code.contains("self.submod_0.forward(x)"), "{code}");
    let retraced = fx::trace::transform(&split, fx::interpreter::NoHooks).unwrap();
    assert_eq!(retraced.graph().to_string(), split.graph().to_string());
    let input = Arg::Value(Tensor::ones([1, 3, 8, 8]));
    let (through, _) = fx::trace::trace_call(fx::trace::Leaves::None, &split, &[input], &fx::Kwargs::new()).unwrap();
    assert!(through.graph().nodes().all(|(_, node)| node.op() != Opcode::CallModule), "{}", through.graph());
    // It goes through a file, its parts with it.
    let mut functions = module.clone();
    fx::passes::decompose_modules(&mut functions).unwrap();
    let split = split_module(&functions, |graph, id| usize::from(name(graph, id).contains("linear"))).unwrap();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("split.safetensors");
    split.save(&file).unwrap();
    same(&module, &GraphModule::load(&file).unwrap(), &Tensor::rand([2, 3, 8, 8]));
}

#[test]
fn a_split_model_is_put_together_again() {
    let module = small();
    for parts in 1..=5 {
        let mut place = 0;
        let split = split_module(&module, |_, _| {
            place += 1;
            place * parts / 6
        })
        .unwrap();
        let whole = inline_submodules(&split).unwrap();
        assert_eq!(whole.graph().to_string(), module.graph().to_string());
        let paths = |module: &GraphModule| module.state().modules.keys().cloned().collect::<Vec<_>>();
        assert_eq!(paths(&whole), paths(&module));
    }
}

#[test]
fn elements_of_parts_are_used_directly() {
    let module = fx::trace_fn!(|x| {
        let (a, b) = (x.relu(), x.neg());
        a.exp() + b
    })
    .unwrap();
    let split = split_module(&module, |graph, id| usize::from(!["relu", "neg"].contains(&name(graph, id)))).unwrap();
    assert_eq!(inline_submodules(&split).unwrap().graph(), module.graph());
}

#[test]
fn state_that_meets_at_a_path_is_kept_apart() {
    let (a, b) = (nn::Linear::new(2, 2), nn::Linear::new(2, 2));
    let inner = |linear: &nn::Linear| fx::trace_fn!(|x| linear.forward(x)).unwrap();
    let (a, b) = (inner(&a), inner(&b));
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let first = graph.call_module("first", [x]);
    let second = graph.call_module("second", [first]);
    graph.output(second);
    let mut state = fx::graph_module::State::new();
    state.modules.insert("first".into(), a.share());
    state.modules.insert("second".into(), b.share());
    let module = GraphModule::with_state(graph, state, "Two").unwrap();
    let whole = inline_submodules(&module).unwrap();
    check(
        whole.graph(),
        "graph():
    %x : [num_users=1] = placeholder[target=x]
    %linear : [num_users=1] = call_module[target=linear](args = (%x,), kwargs = {})
    %linear_1 : [num_users=1] = call_module[target=second.linear](args = (%linear,), kwargs = {})
    return linear_1",
    );
    same(&module, &whole, &Tensor::rand([3, 2]));
}

/// Supports calls of these targets.
fn only(targets: &'static [&'static str]) -> impl Fn(&GraphModule, NodeId) -> bool {
    move |module, id| targets.contains(&module.graph()[id].target().name())
}

/// The names of the nodes of each partition.
fn proposed<S: fx::passes::OperatorSupport>(
    partitioner: &CapabilityBasedPartitioner<'_, S>,
    module: &GraphModule,
) -> Vec<String> {
    let names = |nodes: &[NodeId]| nodes.iter().map(|id| name(module.graph(), *id).to_owned()).collect::<Vec<_>>();
    partitioner.propose_partitions().iter().map(|part| names(&part.nodes).join(" ")).collect()
}

/// torch.fx's first partition test: two pairs of `relu` and `neg` with something unsupported between.
#[test]
fn a_backend_gets_what_it_supports() {
    let module = fx::trace_fn!(|x| x.relu().neg().exp().relu().neg()).unwrap();
    let partitioner = CapabilityBasedPartitioner::new(&module, only(&["relu", "neg"]));
    assert_eq!(proposed(&partitioner, &module), ["relu neg", "relu_1 neg_1"]);
    let fused = partitioner.partition_and_fuse().unwrap();
    check(
        fused.graph(),
        "graph():
    %x : [num_users=1] = placeholder[target=x]
    %fused_0 : [num_users=1] = call_module[target=fused_0](args = (%x,), kwargs = {})
    %exp : [num_users=1] = call_method[target=exp](args = (%fused_0,), kwargs = {})
    %fused_1 : [num_users=1] = call_module[target=fused_1](args = (%exp,), kwargs = {})
    return fused_1",
    );
    same(&module, &fused, &Tensor::rand([4]));
}

/// A node beside the way through an unsupported one: fusing all three supported ones would make a cycle.
#[test]
fn no_partition_makes_a_cycle() {
    let module = fx::trace_fn!(|x| {
        let a = x.relu();
        let b = a.exp();
        a.neg() + b
    })
    .unwrap();
    let partitioner =
        CapabilityBasedPartitioner::new(&module, only(&["relu", "neg", "add"])).allows_single_node_partition(true);
    assert_eq!(proposed(&partitioner, &module), ["relu neg", "add"]);
    same(&module, &partitioner.partition_and_fuse().unwrap(), &Tensor::rand([4]));
}

/// The graphs of torch.fx's own partition tests, on a backend that has `add` only. As many partitions come out; where a
/// node could be in two of them, it is in the earlier one here.
#[test]
fn partitions_are_those_of_torch_fx() {
    #[track_caller]
    fn partitions(module: fx::Result<GraphModule>, expected: &[&str]) {
        let module = module.unwrap();
        let partitioner = CapabilityBasedPartitioner::new(&module, only(&["add"])).allows_single_node_partition(true);
        assert_eq!(proposed(&partitioner, &module), expected);
        let inputs = || module.graph().placeholders().iter().map(|_| Arg::Value(Tensor::ones([4]))).collect::<Vec<_>>();
        assert_eq!(partitioner.partition_and_fuse().unwrap().run(inputs()).unwrap(), module.run(inputs()).unwrap());
    }
    let blocked_twice = fx::trace_fn!(|a, b, c| {
        let first = a + &b + b;
        let second = &first + c;
        let relu = second.relu();
        let third = &first + relu + (first + second);
        let last = third.relu() + &third;
        (last + &third, third)
    });
    partitions(blocked_twice, &["add add_1 add_2 add_4", "add_3 add_5", "add_6 add_7"]);
    let blocked_once = fx::trace_fn!(|a, b| {
        let sum = a + &b + b;
        let around = &sum + sum.relu();
        (&sum + around, sum)
    });
    partitions(blocked_once, &["add add_1", "add_2 add_3"]);
    partitions(fx::trace_fn!(|a, b, c| (&a + &b, a + &c, b + c)), &["add add_1 add_2"]);
    partitions(fx::trace_fn!(|a, b, c| (&a + &b).mul(&a + &c) * (b + c)), &["add add_1 add_2"]);
    let one_branch = fx::trace_fn!(|a| {
        let sum = a + 1.0;
        (sum.relu(), sum + 2.0)
    });
    partitions(one_branch, &["add add_1"]);
    let no_branch = fx::trace_fn!(|a| {
        let sum = a + 1.0;
        (sum.relu(), sum.relu())
    });
    partitions(no_branch, &["add"]);
    let three_branches = fx::trace_fn!(|a| {
        let sum = a + 1.0;
        let right = &sum + 1.0;
        let below = &sum + &right;
        fx::functional::stack(&[sum + 1.0, right, below])
    });
    partitions(three_branches, &["add add_1 add_2 add_3"]);
    let around = fx::trace_fn!(|a| {
        let sum = a + 1.0;
        let relu = sum.relu();
        let after = &sum + &relu;
        fx::functional::stack(&[relu, after, sum.relu()])
    });
    partitions(around, &["add", "add_1"]);
}

#[test]
fn independent_nodes_go_together_unless_told() {
    let module = fx::trace_fn!(|x, y| (x.relu().neg(), y.relu().neg(), y.exp().relu())).unwrap();
    let partitioner = || CapabilityBasedPartitioner::new(&module, only(&["relu", "neg"]));
    assert_eq!(proposed(&partitioner(), &module), ["relu neg relu_1 neg_1 relu_2"]);
    assert_eq!(proposed(&partitioner().skip_horizontal_fusion(), &module), ["relu neg", "relu_1 neg_1"]);
}

#[test]
fn single_nodes_are_worth_it_when_told() {
    let module = fx::trace_fn!(|x| x.relu().exp().neg()).unwrap();
    let partitioner = || CapabilityBasedPartitioner::new(&module, only(&["relu", "neg"]));
    assert_eq!(proposed(&partitioner(), &module), Vec::<String>::new());
    assert_eq!(proposed(&partitioner().allows_single_node_partition(true), &module), ["relu", "neg"]);
    assert_eq!(proposed(&partitioner().allowed_single_node_partition_ops(["neg"]), &module), ["neg"]);
}

/// What does not compute is left outside at the ends of a partition and does not count.
#[test]
fn partitions_do_not_end_in_non_compute_ops() {
    let module = fx::trace_fn!(|x| x.flatten().relu().reshape([2, 2]).neg().flatten().exp().flatten().relu()).unwrap();
    let partitioner = CapabilityBasedPartitioner::new(&module, only(&["relu", "neg", "flatten", "reshape"]))
        .non_compute_ops(["flatten", "reshape"]);
    assert_eq!(proposed(&partitioner, &module), ["relu reshape neg"]);
}

#[test]
fn elements_go_with_their_structure() {
    let module = fx::trace_fn!(|x| {
        let [a, b] = x.chunk(0);
        a + b
    })
    .unwrap();
    let partitioner = CapabilityBasedPartitioner::new(&module, only(&["chunk"])).allows_single_node_partition(true);
    assert_eq!(proposed(&partitioner, &module), ["chunk getitem getitem_1"]);
    same(&module, &partitioner.partition_and_fuse().unwrap(), &Tensor::rand([4]));
}

#[test]
fn support_is_combined() {
    let mut module = small();
    infer_shapes(&mut module, [image(1, 8)]).unwrap();
    let supports = |support: &dyn Fn(&GraphModule, NodeId) -> bool| -> Vec<String> {
        let ids = module.graph().node_ids().into_iter().filter(|id| !module.graph()[*id].inputs().is_empty());
        ids.filter(|id| support(&module, *id)).map(|id| name(module.graph(), id).to_owned()).collect()
    };
    let call =
        |support: &dyn fx::passes::OperatorSupport| supports(&|module, id| support.is_node_supported(module, id));
    let both = chain(vec![Box::new(only(&["relu", "mean"])), Box::new(decline_names(&["mean"]))]);
    assert_eq!(call(&both), ["relu"]);
    let either = any_chain(vec![Box::new(only(&["relu"])), Box::new(only(&["fc"]))]);
    assert_eq!(call(&either), ["relu", "fc"]);
    assert_eq!(call(&decline_input_dtype(DType::F32)), Vec::<String>::new());
    assert_eq!(call(&decline_input_dtype(DType::F16)).len(), 6);
}

#[test]
fn a_device_and_the_cpu_take_turns() {
    let module = fx::trace_fn!(|x| x.exp().relu().neg().exp().relu().exp()).unwrap();
    let calls = |module: &GraphModule| {
        let paths = module.graph().nodes().filter(|(_, node)| node.op() == Opcode::CallModule);
        paths.map(|(_, node)| node.target().name().to_owned()).collect::<Vec<_>>()
    };
    let support = || only(&["relu", "neg"]);
    let split = split_by_support(&module, support(), SplitSettings::default()).unwrap();
    assert_eq!(calls(&split), ["_run_on_cpu_0", "_run_on_acc_1", "_run_on_cpu_2", "_run_on_acc_3", "_run_on_cpu_4"]);
    same(&module, &split, &Tensor::rand([4]));
    let large = SplitSettings { min_acc_module_size: 2, max_acc_splits: Some(1) };
    let split = split_by_support(&module, support(), large).unwrap();
    assert_eq!(calls(&split), ["_run_on_cpu_0", "_run_on_acc_1", "_run_on_cpu_2"]);
    let few = SplitSettings { max_acc_splits: Some(1), ..SplitSettings::default() };
    let error = split_by_support(&module, support(), few).unwrap_err().to_string();
    assert!(error.starts_with("the split has 2 parts for the device, and at most 1 are allowed"), "{error}");
}

#[test]
fn real_models_are_split_and_put_together() {
    let model = nn::models::resnet18(10);
    model.eval();
    let module = fx::trace(&model).unwrap();
    let mut place = 0;
    let split = split_module(&module, |_, _| {
        place += 1;
        place / 10
    })
    .unwrap();
    let x = Tensor::rand([1, 3, 32, 32]);
    same(&module, &split, &x);
    assert_eq!(inline_submodules(&split).unwrap().graph(), module.graph());
    let convs = |module: &GraphModule, id: NodeId| module.graph()[id].target().name().contains("conv");
    let fused = CapabilityBasedPartitioner::new(&module, convs).allows_single_node_partition(true);
    same(&module, &fused.partition_and_fuse().unwrap(), &x);
}
