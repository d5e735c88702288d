use fx::passes::{fold_constants, split_constants};
use fx::prelude::*;

use super::fill::floats;
use super::{check_close, module, parameters, support::check};

const GRAPH: &str = "graph():
    %x : [num_users=1] = placeholder[target=x]
    %w : [num_users=2] = get_attr[target=w]
    %exp : [num_users=1] = call_method[target=exp](args = (%w,), kwargs = {})
    %neg : [num_users=1] = call_function[target=neg](args = (%exp,), kwargs = {})
    %size : [num_users=1] = call_method[target=size](args = (%w,), kwargs = {dim: 0})
    %rand : [num_users=1] = call_function[target=rand](args = (), kwargs = {size: (%size,)})
    %add : [num_users=1] = call_function[target=add](args = (%x, %neg), kwargs = {})
    return (add, rand)";

#[test]
fn what_does_not_depend_on_the_inputs_is_computed_once() {
    let mut module = module(GRAPH, parameters([("w", Tensor::ones([3]))]));
    assert_eq!(fold_constants(&mut module).unwrap(), 3);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %_folded_constant : [num_users=1] = get_attr[target=_folded_constant]
            %rand : [num_users=1] = call_function[target=rand](args = (), kwargs = {size: (3,)})
            %add : [num_users=1] = call_function[target=add](args = (%x, %_folded_constant), kwargs = {})
            return (add, rand)",
    );
    assert_eq!(fold_constants(&mut module).unwrap(), 0);
}

/// The constant part can be run again when parameters have changed.
#[test]
fn the_constant_part_is_a_module() {
    let state = parameters([("w", Tensor::ones([3]))]);
    let weight = state.parameters["w"].clone();
    let mut module = module(GRAPH, state);
    module
        .edit(|graph| {
            let add = graph.find("add").unwrap();
            graph.set_args(graph.output_node().unwrap(), vec![add.into()]);
            graph.eliminate_dead_code(|_, _| false);
            Ok(())
        })
        .unwrap();
    let before = module.clone();
    let constants = split_constants(&mut module).unwrap().unwrap();
    check(
        constants.module.graph(),
        "graph():
            %w : [num_users=1] = get_attr[target=w]
            %exp : [num_users=1] = call_method[target=exp](args = (%w,), kwargs = {})
            %neg : [num_users=1] = call_function[target=neg](args = (%exp,), kwargs = {})
            return [neg]",
    );
    weight.set(floats("w", &[3])).unwrap();
    constants.update(&module).unwrap();
    check_close(&before, &module, &[floats("x", &[3])], 0.0, 0.0);
    assert!(split_constants(&mut module).unwrap().is_none());
}
