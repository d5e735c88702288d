use fx::graph_module::State;
use fx::nn;
use fx::ops::{Definition, Effect, Function};
use fx::passes::{eliminate_dead_code, remove_dropout, remove_identities};
use fx::prelude::*;

use super::{module, support::check};

#[test]
fn dead_code_goes_with_what_only_it_used() {
    let mut state = State::new();
    state.parameters.insert("w".into(), Parameter::new(Tensor::ones([2])));
    let mut module = module(
        "graph():
            %x : [num_users=2] = placeholder[target=x]
            %unused : [num_users=0] = placeholder[target=unused]
            %w : [num_users=1] = get_attr[target=w]
            %add : [num_users=1] = call_function[target=add](args = (%x, %w), kwargs = {})
            %relu : [num_users=0] = call_method[target=relu](args = (%add,), kwargs = {})
            %neg : [num_users=1] = call_method[target=neg](args = (%x,), kwargs = {})
            return neg",
        state,
    );
    assert_eq!(eliminate_dead_code(&mut module).unwrap(), 3);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %unused : [num_users=0] = placeholder[target=unused]
            %neg : [num_users=1] = call_method[target=neg](args = (%x,), kwargs = {})
            return neg",
    );
    assert!(module.state().parameters.is_empty());
    assert_eq!(eliminate_dead_code(&mut module).unwrap(), 0);
}

#[test]
fn effects_are_not_dropped() {
    static LOG: Definition = Definition { name: "test::log", effect: Effect::Impure, ..copy() };
    const fn copy() -> Definition {
        let relu = fx::ops::relu.definition();
        Definition { doc: relu.doc, operands: relu.operands, attributes: relu.attributes, ..*relu }
    }
    Function::new(&LOG).register();
    let graph = "graph():
        %x : [num_users=2] = placeholder[target=x]
        %norm : [num_users=0] = call_module[target=norm](args = (%x,), kwargs = {})
        %log : [num_users=0] = call_function[target=test::log](args = (%x,), kwargs = {})
        return x";
    let norm = nn::BatchNorm1d::new(3);
    let mut state = State::new();
    state.modules.insert("norm".into(), norm.share());
    let mut module = module(graph, state);
    // In training the batch norm updates its running statistics.
    assert_eq!(eliminate_dead_code(&mut module).unwrap(), 0);
    norm.eval();
    assert_eq!(eliminate_dead_code(&mut module).unwrap(), 1);
    assert_eq!(module.graph().find_calls(Function::new(&LOG)).len(), 1);
}

#[test]
fn dropout_that_is_off_goes() {
    let model = nn::Sequential::new((nn::Linear::new(2, 2), nn::Dropout::new(0.5), nn::Identity::new()));
    let mut module = fx::trace(&model).unwrap();
    assert_eq!(remove_dropout(&mut module).unwrap(), 0);
    model.eval();
    assert_eq!(remove_dropout(&mut module).unwrap(), 1);
    check(
        module.graph(),
        "graph():
            %input : [num_users=1] = placeholder[target=input]
            %_0 : [num_users=1] = call_module[target=0](args = (%input,), kwargs = {})
            %_2 : [num_users=1] = call_module[target=2](args = (%_0,), kwargs = {})
            return _2",
    );
    assert_eq!(remove_identities(&mut module).unwrap(), 1);
}

#[test]
fn calls_that_change_nothing_go() {
    let mut module = module(
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %clone_1 : [num_users=1] = call_method[target=clone](args = (%x,), kwargs = {})
            %dropout : [num_users=1] = call_function[target=dropout](args = (%clone_1,), kwargs = {p: 0.5, training: False})
            %dropout_1 : [num_users=1] = call_function[target=dropout](args = (%dropout,), kwargs = {p: 0.5, training: True})
            %contiguous : [num_users=1] = call_method[target=contiguous](args = (%dropout_1,), kwargs = {})
            return contiguous",
        State::new(),
    );
    assert_eq!(remove_identities(&mut module).unwrap(), 3);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %dropout_1 : [num_users=1] = call_function[target=dropout](args = (%x,), kwargs = {p: 0.5, training: True})
            return dropout_1",
    );
    assert_eq!(remove_identities(&mut module).unwrap(), 0);
}
