use fx::passes::Patch;
use fx::prelude::*;
use fx::{Arg, ops};

use super::support::check;

#[test]
fn taps_read_and_shunts_replace() {
    let mut module = fx::trace_fn!(|x, y| x.sigmoid().exp() + y.neg()).unwrap();
    let find = |name| module.graph().find(name).unwrap();
    let (sigmoid, neg) = (find("sigmoid"), find("neg"));
    let mut patch = Patch::new();
    let (a, b) = (patch.tap(module.graph(), sigmoid).unwrap(), patch.tap(module.graph(), neg).unwrap());
    let mul = patch.graph.call_function(ops::mul, [a, b]);
    patch.shunt(sigmoid, mul);
    assert_eq!(patch.apply(&mut module).unwrap().len(), 1);
    check(
        module.graph(),
        "graph():
            %x : [num_users=1] = placeholder[target=x]
            %y : [num_users=1] = placeholder[target=y]
            %sigmoid : [num_users=1] = call_method[target=sigmoid](args = (%x,), kwargs = {})
            %neg : [num_users=2] = call_method[target=neg](args = (%y,), kwargs = {})
            %mul : [num_users=1] = call_function[target=mul](args = (%sigmoid, %neg), kwargs = {})
            %exp : [num_users=1] = call_method[target=exp](args = (%mul,), kwargs = {})
            %add : [num_users=1] = call_function[target=add](args = (%exp, %neg), kwargs = {})
            return add",
    );
}

/// A node that the shunted value is needed for would have to run before and after it.
#[test]
fn an_edit_is_applied_whole_or_not_at_all() {
    let mut module = fx::trace_fn!(|x| x.sigmoid().exp()).unwrap();
    let before = module.clone();
    let find = |name| before.graph().find(name).unwrap();
    let mut patch = Patch::new();
    let exp = patch.tap(module.graph(), find("exp")).unwrap();
    let doubled = patch.graph.call_function(ops::mul, [exp.into(), Arg::from(2.0)]);
    patch.shunt(find("sigmoid"), doubled);
    let error = patch.apply(&mut module).unwrap_err();
    check(error.message(), "these nodes need each other: %mul, %exp");
    assert_eq!(module.graph(), before.graph());
}
