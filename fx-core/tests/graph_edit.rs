//! Editing graphs: names, users, insertion points, erasing, replacing, moving, copying, as in torch.fx.

use fx_core::graph::{Graph, NodeArg, NodeId, NodeMap, Opcode};
use fx_core::ops::{self, Definition, Effect, Function, Tolerance};
use fx_core::{Arg, Error, Kwargs};

#[track_caller]
fn check(actual: impl ToString, expected: &str) {
    assert_eq!(actual.to_string(), expected);
}

#[track_caller]
fn names(graph: &Graph, expected: &str) {
    let names: Vec<_> = graph.nodes().map(|(_, node)| node.name()).collect();
    check(names.join(" "), expected);
    graph.lint().expect("an edited graph is in order");
}

fn users(graph: &Graph, id: NodeId) -> String {
    graph[id].users().map(|user| graph[user].name()).collect::<Vec<_>>().join(" ")
}

fn method(graph: &mut Graph, name: &str, input: NodeId) -> NodeId {
    graph.call_method(name, [NodeArg::Value(input)])
}

fn add(graph: &mut Graph, a: NodeId, b: impl Into<NodeArg>) -> NodeId {
    graph.call_function(ops::add, [a.into(), b.into()])
}

/// `x -> relu -> neg -> output`.
fn chain() -> (Graph, NodeId, NodeId, NodeId) {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let relu = method(&mut graph, "relu", x);
    let neg = method(&mut graph, "neg", relu);
    graph.output(neg);
    (graph, x, relu, neg)
}

#[test]
fn nodes_are_named_after_targets() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    graph.placeholder("x");
    graph.placeholder("fn");
    graph.placeholder("inf");
    graph.placeholder("0");
    graph.get_attr("layers.0.Weight");
    graph.call_module("layers.0", [x]);
    add(&mut graph, x, 1.0);
    add(&mut graph, x, x);
    method(&mut graph, "relu", x);
    graph.create_node(Opcode::CallMethod, "relu", vec![x.into()], Kwargs::new(), Some("relu_5"));
    method(&mut graph, "relu", x);
    names(&graph, "x x_1 fn_1 inf_1 _0 layers_0_weight layers_0 add add_1 relu relu_5 relu_6");
}

#[test]
fn a_name_is_not_given_again_after_erase() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let relu = method(&mut graph, "relu", x);
    graph.erase_node(relu).expect("it has no users");
    method(&mut graph, "relu", x);
    names(&graph, "x relu_1");
}

#[test]
fn a_renamed_node_gets_a_free_name() {
    let (mut graph, x, relu, _) = chain();
    graph.rename(relu, "x");
    graph.rename(x, "x");
    names(&graph, "x x_1 neg output");
    graph.rename(relu, "my input");
    names(&graph, "x my_input neg output");
}

#[test]
fn a_user_counts_once() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let y = graph.placeholder("y");
    let sum = add(&mut graph, x, x);
    check(users(&graph, x), "add");
    check(graph[sum].inputs().len(), "1");
    assert!(graph[sum].uses(x) && !graph[sum].uses(y));

    graph.update_arg(sum, 0, y);
    check(users(&graph, x), "add");
    graph.update_arg(sum, 1, y);
    check(users(&graph, x), "");
    check(users(&graph, y), "add");
    names(&graph, "x y add");
}

#[test]
fn users_are_found_in_nested_arguments() {
    let mut graph = Graph::new();
    let ids: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| graph.placeholder(name)).into();
    let v = |i: usize| NodeArg::Value(ids[i]);
    let kwargs: Kwargs<NodeId> = [("k", Arg::Dict([("deep", v(4))].into_iter().collect()))].into_iter().collect();
    let args = [Arg::List(vec![Arg::Tuple(vec![v(0)]), v(1)]), Arg::Slice(Box::new([v(2), Arg::None, v(3)]))];
    let node = graph.call(Opcode::CallFunction, ops::getitem, args, kwargs);
    let inputs: Vec<_> = graph[node].inputs().into_iter().collect();
    assert_eq!(inputs, ids);
    assert!(ids.iter().all(|id| graph[*id].users().eq([node])));
    graph.lint().expect("in order");
}

#[test]
fn users_keep_their_order_when_one_of_them_changes() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let first = add(&mut graph, x, 1);
    add(&mut graph, x, 2);
    graph.update_arg(first, 1, 3);
    graph.update_kwarg(first, "alpha", 2);
    check(users(&graph, x), "add add_1");
}

#[test]
fn nodes_go_to_the_insertion_point() {
    let (mut graph, x, relu, neg) = chain();
    graph.inserting_before(neg, |g| {
        method(g, "abs", relu);
        method(g, "exp", relu);
    });
    graph.inserting_after(x, |g| {
        method(g, "sin", x);
        method(g, "cos", x);
    });
    graph.inserting_at_start(|g| {
        g.placeholder("a");
        g.placeholder("b");
    });
    names(&graph, "a b x sin cos relu abs exp neg output");
}

#[test]
fn insertion_points_nest() {
    let (mut graph, x, relu, neg) = chain();
    graph.inserting_after(x, |g| {
        method(g, "sin", x);
        g.inserting_before(neg, |g| method(g, "abs", relu));
        method(g, "cos", x);
    });
    names(&graph, "x sin cos relu abs neg output");
}

#[test]
fn an_insertion_point_stays_when_its_node_goes() {
    let (mut graph, x, relu, neg) = chain();
    graph.inserting_after(relu, |g| {
        g.replace_all_uses_with(relu, x);
        g.erase_node(relu).expect("it has no users");
        method(g, "abs", x);
    });
    names(&graph, "x abs neg output");

    let dead = graph.inserting_before(neg, |g| method(g, "exp", x));
    graph.inserting_before(dead, |g| {
        g.inserting_at_start(|g| g.erase_node(dead).expect("it has no users"));
        method(g, "sin", x);
    });
    names(&graph, "x abs sin neg output");
}

#[test]
fn an_insertion_point_stays_when_its_node_moves() {
    let (mut graph, x, _, neg) = chain();
    let abs = graph.inserting_before(neg, |g| method(g, "abs", x));
    graph.inserting_before(abs, |g| {
        g.inserting_at_start(|g| g.move_after(abs, x));
        method(g, "sin", x);
    });
    names(&graph, "x abs relu sin neg output");
}

#[test]
fn a_node_with_users_is_not_erased() {
    let (mut graph, x, relu, _) = chain();
    let before = graph.clone();
    let error = graph.erase_node(relu).expect_err("it has a user");
    check(error.message(), "tried to erase node relu but it still had 1 user: %neg");
    add(&mut graph, x, 1.0);
    let error = graph.erase_node(x).expect_err("it has users");
    check(error.message(), "tried to erase node x but it still had 2 users: %relu, %add");
    let sum = graph.find("add").expect("there is one");
    graph.erase_node(sum).expect("it has no users");
    assert_eq!(graph, before);
}

#[test]
fn an_erased_node_is_gone() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let y = graph.placeholder("y");
    graph.erase_node(y).expect("it has no users");
    assert!(graph.erase_node(y).is_err() && !graph.contains(y) && graph.get(y).is_none());
    let z = graph.placeholder("z");
    assert!(z != y && !graph.contains(y) && graph.next(x) == Some(z) && graph.prev(z) == Some(x));
    assert!(graph.next(y).is_none() && graph.meta_mut(y).is_none());
    names(&graph, "x z");
}

#[test]
#[should_panic(expected = "was erased or belongs to another graph")]
fn an_erased_node_is_no_argument() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    graph.erase_node(x).expect("it has no users");
    method(&mut graph, "relu", x);
}

#[test]
#[should_panic(expected = "node %relu has no positional argument 1")]
fn only_an_argument_that_is_there_is_updated() {
    let (mut graph, x, relu, _) = chain();
    graph.update_arg(relu, 1, x);
}

#[test]
fn a_graph_can_be_edited_while_its_ids_are_walked() {
    let (mut graph, ..) = chain();
    for id in graph.node_ids() {
        if graph[id].op() == Opcode::CallMethod {
            let input = graph[id].args()[0].clone();
            let new = graph.inserting_after(id, |g| g.call_function(ops::sigmoid, [input]));
            graph.replace_all_uses_with(id, new);
            graph.erase_node(id).expect("its uses were replaced");
        }
    }
    names(&graph, "x sigmoid sigmoid_1 output");
}

#[test]
fn all_uses_are_replaced_but_that_by_the_new_node() {
    let (mut graph, _, relu, neg) = chain();
    let sum = graph.inserting_after(relu, |g| add(g, relu, 1.0));
    let changed = graph.replace_all_uses_with(relu, sum);
    assert_eq!(changed, [neg]);
    check(users(&graph, relu), "add");
    check(users(&graph, sum), "neg");
    assert_eq!(graph.replace_all_uses_with(sum, sum), [neg]);
    names(&graph, "x relu add neg output");
}

#[test]
fn uses_are_replaced_where_the_filter_says() {
    let mut graph = Graph::new();
    let (x, y) = (graph.placeholder("x"), graph.placeholder("y"));
    let sum = add(&mut graph, x, x);
    let relu = method(&mut graph, "relu", x);
    let is_method = |graph: &Graph, user: NodeId| graph[user].op() == Opcode::CallMethod;
    assert_eq!(graph.replace_uses_if(x, y, is_method), [relu]);
    check(users(&graph, x), "add");
    graph.replace_input_with(sum, x, y);
    check(users(&graph, y), "relu add");
    check(graph.format_node(sum), "%add : [num_users=0] = call_function[target=add](args = (%y, %y), kwargs = {})");
    names(&graph, "x y add relu");
}

#[test]
fn arguments_are_set_inserted_and_mapped() {
    let mut graph = Graph::new();
    let (x, y) = (graph.placeholder("x"), graph.placeholder("y"));
    let node = graph.call_function(ops::add, [NodeArg::Int(1)]);
    graph.insert_arg(node, 0, x);
    graph.update_kwarg(node, "alpha", y);
    graph.update_kwarg(node, "alpha", Arg::List(vec![y.into(), x.into()]));
    let text = "%add : [num_users=0] = call_function[target=add](args = (%x, 1), kwargs = {alpha: [%y, %x]})";
    check(graph.format_node(node), text);
    graph.map_inputs(node, &mut |id| if id == x { NodeArg::None } else { NodeArg::Value(id) });
    check(users(&graph, x), "");
    check(users(&graph, y), "add");
    graph.set_kwargs(node, Kwargs::new());
    graph.set_args(node, vec![x.into(), x.into()]);
    graph.set_call(node, Opcode::CallMethod, "mul");
    check(graph.format_node(node), "%add : [num_users=0] = call_method[target=mul](args = (%x, %x), kwargs = {})");
    check(users(&graph, x) + &users(&graph, y), "add");
    names(&graph, "x y add");
}

#[test]
fn nodes_move() {
    let mut graph = Graph::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.placeholder(name));
    graph.move_before(c, a);
    names(&graph, "c a b");
    graph.move_after(c, b);
    names(&graph, "a b c");
    graph.move_after(a, c);
    graph.move_before(b, b);
    names(&graph, "b c a");
    assert!(graph.nodes().rev().map(|(id, _)| id).eq([a, c, b]));
    check(graph.len(), "3");
    let relu = method(&mut graph, "relu", a);
    graph.move_before(relu, a);
    assert!(graph.lint().is_err());
}

#[test]
fn nodes_are_found_by_opcode_and_target() {
    let (mut graph, x, relu, _) = chain();
    let other = graph.inserting_after(relu, |g| method(g, "relu", relu));
    let function = graph.inserting_after(other, |g| g.call_function(ops::relu, [NodeArg::Value(x)]));
    assert_eq!(graph.find_nodes(Opcode::CallMethod, "relu"), [relu, other]);
    assert_eq!(graph.find_nodes(Opcode::CallFunction, ops::relu), [function]);
    assert_eq!(graph.find_nodes(Opcode::Placeholder, "x"), [x]);
    assert!(graph.find_nodes(Opcode::CallModule, "relu").is_empty());
    assert_eq!((graph.find("relu_1"), graph.find("nobody")), (Some(other), None));
    assert_eq!(graph.placeholders(), [x]);
    assert_eq!(graph.output_arg(), graph.find("neg").map(NodeArg::Value).as_ref());
}

fn nothing(_: &[Arg<fx_core::Tensor>], _: &Kwargs<fx_core::Tensor>) -> Result<Arg<fx_core::Tensor>, Error> {
    Ok(Arg::None)
}

/// A function that must be called, used or not.
static LOG: Definition = Definition {
    name: "tests::log",
    doc: &[],
    operands: &[],
    attributes: &[],
    source: ops::function::Source::WRAPPED,
    effect: Effect::Impure,
    like_input: false,
    tolerance: Tolerance::EXACT,
    eval: nothing,
    infer: |_, _| Ok(Arg::None),
    flops: |_, _, _| 0_i64.into(),
};

#[test]
fn dead_code_goes_but_effects_and_inputs_stay() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    graph.placeholder("unused");
    let dead = method(&mut graph, "relu", x);
    add(&mut graph, dead, 1.0);
    graph.call_function(Function::new(&LOG), [NodeArg::Value(x)]);
    graph.call_module("counter", [x]);
    graph.output(x);
    let is_module = |graph: &Graph, id: NodeId| graph[id].op() == Opcode::CallModule;
    assert!(graph.eliminate_dead_code(is_module));
    names(&graph, "x unused log counter output");
    assert!(!graph.eliminate_dead_code(is_module));
    assert!(graph.eliminate_dead_code(|_, _| false));
    names(&graph, "x unused log output");
}

#[test]
fn a_node_is_copied_with_its_metadata() {
    let (mut graph, _, relu, _) = chain();
    graph.meta_mut(relu).expect("it is there").insert(7_u8);
    graph.annotate(relu, Some("Tensor".to_owned()));
    let mut other = Graph::new();
    let y = other.placeholder("y");
    let copy = other.node_copy(&graph, relu, &mut |_| Ok(y.into())).expect("it can be copied");
    let text = "%relu : Tensor [num_users=0] = call_method[target=relu](args = (%y,), kwargs = {})";
    check(other.format_node(copy), text);
    assert_eq!(other[copy].meta().get::<u8>(), Some(&7));

    let before = other.clone();
    assert!(other.node_copy(&graph, relu, &mut |_| Err(Error::argument("no"))).is_err());
    let far = graph.node_ids()[3];
    assert!(other.node_copy(&graph, relu, &mut |_| Ok(far.into())).is_err());
    assert!(before.clone().node_copy(&other, far, &mut |_| Ok(Arg::None)).is_err());
    assert_eq!(other, before);
}

#[test]
fn a_graph_is_copied_into_another() {
    let (graph, x, ..) = chain();
    let mut other = Graph::new();
    let relu = other.placeholder("relu");
    let mut map = NodeMap::from([(x, relu.into())]);
    let output = other.graph_copy(&graph, &mut map).expect("it is in order").expect("it has an output");
    other.output(Arg::Tuple(vec![output, relu.into()]));
    let expected = "graph():
    %relu : [num_users=2] = placeholder[target=relu]
    %relu_1 : [num_users=1] = call_method[target=relu](args = (%relu,), kwargs = {})
    %neg : [num_users=1] = call_method[target=neg](args = (%relu_1,), kwargs = {})
    return (neg, relu)";
    check(other, expected);

    let mut whole = Graph::new();
    let output = whole.graph_copy(&graph, &mut NodeMap::new()).expect("it is in order").expect("it has an output");
    whole.output(output);
    assert_eq!(whole, graph);
}

#[test]
fn a_graph_out_of_order_is_not_copied() {
    let (mut graph, x, relu, _) = chain();
    graph.move_before(relu, x);
    let error = Graph::new().graph_copy(&graph, &mut NodeMap::new()).expect_err("relu comes before x");
    check(error.message(), "%x is used before it is defined");
}

/// Nodes are found by an index, and compared by numbers: both stay right whatever is done to the graph.
#[test]
fn finding_and_comparing_follow_every_edit() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let mut ids = vec![x];
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let targets = ["relu", "neg", "exp"];
    for step in 0..5000 {
        let id = ids[random(ids.len())];
        let target = targets[random(3)];
        match random(8) {
            0 if graph.erase_node(id).is_ok() => {
                ids.retain(|have| *have != id);
                ids.extend(ids.is_empty().then(|| graph.placeholder("x")));
            }
            1 => graph.move_after(id, ids[random(ids.len())]),
            2 => graph.set_call(id, Opcode::CallMethod, target),
            3 => ids.push(graph.inserting_before(id, |graph| graph.call_method(target, [id]))),
            // Always at the same place.
            _ => ids.push(graph.inserting_after(ids[0], |graph| graph.call_method(target, [id]))),
        }
        if step % 500 == 0 {
            for target in targets {
                let all =
                    graph.nodes().filter(|(_, node)| node.op() == Opcode::CallMethod && node.target().name() == target);
                let all: Vec<_> = all.map(|(id, _)| id).collect();
                assert_eq!(graph.find_nodes(Opcode::CallMethod, target), all);
            }
            let order = graph.node_ids();
            assert!(order.windows(2).all(|pair| graph.comes_before(pair[0], pair[1])));
            assert_eq!(graph.last_of(order.iter().copied()), order.last().copied());
            assert!(order.iter().all(|id| graph.find(graph[*id].name()) == Some(*id)));
        }
    }
    assert_eq!(graph.output_node(), None);
    let output = graph.output(ids[0]);
    assert_eq!(graph.output_node(), Some(output));
}

#[test]
fn a_copy_shares_nothing_that_is_written() {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let relu = graph.call_method("relu", [x]);
    graph.output(relu);
    let before = graph.to_string();
    let mut copy = graph.clone();
    let neg = copy.inserting_after(relu, |copy| copy.call_method("neg", [relu]));
    copy.replace_all_uses_with(relu, neg);
    copy.rename(relu, "other");
    copy.set_call(x, Opcode::Placeholder, "y");
    assert_eq!(graph.to_string(), before);
    assert_eq!((graph.find("neg"), graph.find("other")), (None, None));
    assert_eq!(graph.find_nodes(Opcode::Placeholder, "x"), [x]);
    graph.lint().unwrap();
    let again = graph.call_method("neg", [relu]);
    assert_eq!(graph[again].name(), "neg");
}
