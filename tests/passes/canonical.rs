use fx::graph_module::State;
use fx::passes::{canonicalize, normalize};
use fx::{Graph, Opcode};

use super::{module, support::check};

#[test]
fn one_order_and_one_set_of_names() {
    let a = "graph():
        %x : [num_users=2] = placeholder[target=x]
        %first : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
        %second : [num_users=1] = call_method[target=neg](args = (%x,), kwargs = {})
        %sum : [num_users=1] = call_function[target=add](args = (%second, %first), kwargs = {})
        return sum";
    let b = "graph():
        %x : [num_users=2] = placeholder[target=x]
        %p : [num_users=1] = call_method[target=neg](args = (%x,), kwargs = {})
        %q : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
        %r : [num_users=1] = call_function[target=add](args = (%p, %q), kwargs = {})
        return r";
    for text in [a, b] {
        let mut module = module(text, State::new());
        assert!(canonicalize(&mut module).unwrap() > 0);
        check(
            module.graph(),
            "graph():
                %x : [num_users=2] = placeholder[target=x]
                %neg : [num_users=1] = call_method[target=neg](args = (%x,), kwargs = {})
                %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
                %add : [num_users=1] = call_function[target=add](args = (%neg, %relu), kwargs = {})
                return add",
        );
        assert_eq!(canonicalize(&mut module).unwrap(), 0);
    }
}

/// Nodes that change places with their names are counted.
#[test]
fn a_node_that_nobody_uses_stands_where_it_stood() {
    let mut module = module(
        "graph():
            %x : [num_users=2] = placeholder[target=x]
            %mul : [num_users=1] = call_function[target=mul](args = (%x, %x), kwargs = {})
            %mul_1 : [num_users=0] = call_function[target=mul](args = (%x, 0.0), kwargs = {})
            return mul",
        State::new(),
    );
    assert_eq!(canonicalize(&mut module).unwrap(), 2);
    assert_eq!(canonicalize(&mut module).unwrap(), 0);
}

/// Random calls draw in the same order as before.
#[test]
fn random_calls_keep_their_order() {
    let mut module = module(
        "graph():
            %rand : [num_users=1] = call_function[target=rand](args = (), kwargs = {size: (1,)})
            %randn : [num_users=1] = call_function[target=randn](args = (), kwargs = {size: (1,)})
            %sub : [num_users=1] = call_function[target=sub](args = (%randn, %rand), kwargs = {})
            return sub",
        State::new(),
    );
    assert_eq!(canonicalize(&mut module).unwrap(), 0);
}

#[test]
fn one_spelling_of_every_call() {
    let mut module = module(
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
            %linear : [num_users=1] = call_function[target=linear](args = (%relu, %relu, None), kwargs = {})
            %clamp : [num_users=1] = call_function[target=clamp](args = (%linear,), kwargs = {max: 2.0, min: 1.0})
            return clamp",
        State::new(),
    );
    assert_eq!(normalize(&mut module).unwrap(), 3);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_function[target=relu](args = (%x,), kwargs = {})
            %linear : [num_users=1] = call_function[target=linear](args = (%relu, %relu), kwargs = {})
            %clamp : [num_users=1] = call_function[target=clamp](args = (%linear,), kwargs = {min: 1.0, max: 2.0})
            return clamp",
    );
    assert_eq!(normalize(&mut module).unwrap(), 0);
}

#[test]
fn nodes_move_behind_what_they_use() {
    let mut graph: Graph = "graph():
        %x : [num_users=2] = placeholder[target=x]
        %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
        %neg : [num_users=1] = call_method[target=neg](args = (%relu,), kwargs = {})
        %abs : [num_users=0] = call_method[target=abs](args = (%x,), kwargs = {})
        return neg"
        .parse()
        .unwrap();
    assert_eq!(graph.sort_topologically().unwrap(), 0);
    let id = |graph: &Graph, name| graph.find(name).unwrap();
    let (relu, neg, abs) = (id(&graph, "relu"), id(&graph, "neg"), id(&graph, "abs"));
    graph.move_after(relu, abs);
    graph.sort_topologically().unwrap();
    graph.lint().unwrap();
    let names: Vec<_> = graph.nodes().map(|(_, node)| node.name()).collect();
    assert_eq!(names.join(" "), "x abs relu neg output");

    graph.set_args(relu, vec![neg.into()]);
    let order = graph.node_ids();
    let error = graph.sort_topologically().unwrap_err();
    assert_eq!(error.message(), "these nodes need each other: %neg, %relu");
    assert_eq!(graph.node_ids(), order);
    assert_eq!(graph.find_all(Opcode::Output).len(), 1);
}
