//! A graph that breaks each rule. Some rules can only be broken from within the room.

use super::*;
use crate::arg::{Arg, Kwargs};
use crate::ops;

#[track_caller]
fn check(graph: &Graph, expected: &[&str]) {
    check_with(graph, None, expected);
}

#[track_caller]
fn check_with(graph: &Graph, owner: Option<&dyn Owner>, expected: &[&str]) {
    let found: Vec<_> = graph.violations(owner).into_iter().map(|violation| violation.message).collect();
    assert_eq!(found, expected);
}

/// `x -> relu -> output`.
fn graph() -> (Graph, NodeId, NodeId) {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let relu = graph.call_method("relu", [x]);
    graph.output(relu);
    (graph, x, relu)
}

fn node(graph: &mut Graph, id: NodeId) -> &mut Node {
    graph.node_mut(id).expect("it is there")
}

#[test]
fn a_graph_in_order_has_no_violations() {
    check(&graph().0, &[]);
    check(&Graph::new(), &[]);
}

#[test]
fn targets_fit_their_opcodes() {
    let (mut graph, _, relu) = graph();
    graph.set_call(relu, Opcode::CallFunction, "relu");
    check(&graph, &["the target of a call_function is a function, not the name `relu`"]);
    graph.set_call(relu, Opcode::CallMethod, ops::relu);
    check(&graph, &["the target of a call_method is a name, not the function `relu`"]);
    graph.set_call(relu, Opcode::CallMethod, "fly");
    check(&graph, &["there is no method `fly`"]);
}

#[test]
fn opcodes_without_calls_have_their_arguments() {
    let (mut graph, x, relu) = graph();
    graph.set_args(x, vec![Arg::None, Arg::None]);
    graph.set_call(relu, Opcode::GetAttr, "a");
    let output = graph.output_node().expect("there is one");
    graph.set_args(output, Vec::new());
    check(
        &graph,
        &[
            "placeholder nodes have at most one argument, a default, found 2",
            "get_attr nodes have no arguments, found 1",
            "output nodes have one argument, found 0",
        ],
    );
}

#[test]
fn arguments_are_nodes_of_the_graph() {
    let (mut graph, _, relu) = graph();
    let stray = graph.placeholder("stray");
    graph.erase_node(stray).expect("it has no users");
    node(&mut graph, relu).args.push(Arg::Value(stray));
    check(&graph, &["%n3 does not belong to this graph, but is used as an argument"]);
}

#[test]
fn arguments_are_defined_before_their_users() {
    let (mut graph, x, relu) = graph();
    graph.move_after(x, relu);
    check(&graph, &["%x is used before it is defined"]);
    let (mut graph, _, relu) = self::graph();
    graph.update_arg(relu, 0, relu);
    check(&graph, &["%relu is used before it is defined"]);
}

#[test]
fn names_are_unique() {
    let (mut graph, x, relu) = graph();
    let name = graph[x].name.clone();
    node(&mut graph, relu).name = name;
    check(&graph, &["the name `x` is taken by another node"]);
}

#[test]
fn users_are_those_that_use() {
    let (mut graph, x, relu) = graph();
    node(&mut graph, x).users.clear();
    check(&graph, &["the recorded users are not the nodes that use it"]);
    node(&mut graph, x).users.push(relu);
    check(&graph, &[]);
    node(&mut graph, x).users.push(x);
    check(&graph, &["the recorded users are not the nodes that use it"]);
}

#[test]
fn the_output_is_last_and_alone() {
    let (mut graph, x, _) = graph();
    graph.output(x);
    check(&graph, &["the output is not the last node"]);
}

#[test]
fn paths_are_those_of_the_owner() {
    struct Nobody;

    impl Owner for Nobody {
        fn has_module(&self, path: &str) -> bool {
            path == "linear"
        }

        fn has_attr(&self, path: &str) -> bool {
            path == "weight"
        }
    }

    let mut graph = Graph::new();
    let weight = graph.get_attr("weight");
    graph.get_attr("linear");
    graph.call_module("linear", [weight]);
    graph.call(Opcode::CallModule, "weight", [weight], Kwargs::new());
    check(&graph, &[]);
    let expected = ["there is no parameter or buffer at `linear`", "there is no module at `weight`"];
    check_with(&graph, Some(&Nobody), &expected);
}

#[test]
fn all_violations_are_reported() {
    let (mut graph, x, relu) = graph();
    graph.move_after(x, relu);
    graph.set_call(relu, Opcode::CallMethod, "fly");
    let error = graph.lint().expect_err("it breaks two rules");
    let expected = "the graph breaks rules in 2 places:
there is no method `fly`
  in %relu : [num_users=1] = call_method[target=fly](args = (%x,), kwargs = {})
%x is used before it is defined
  in %relu : [num_users=1] = call_method[target=fly](args = (%x,), kwargs = {})";
    assert_eq!(error.message(), expected);
}
