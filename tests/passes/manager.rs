use fx::passes::{self, PassManager};
use fx::prelude::*;
use fx::{Error, GraphModule};

use super::support::check;

fn module() -> GraphModule {
    fx::trace_fn!(|x| (x.relu() + x.relu()).clone_()).unwrap()
}

/// A pass that calls something else instead.
fn swap(from: &'static str, to: &'static str) -> impl Fn(&mut GraphModule) -> fx::Result<usize> {
    move |module| {
        module.edit(|graph| {
            let found = graph.find_nodes(Opcode::CallMethod, from);
            found.iter().for_each(|id| graph.set_call(*id, Opcode::CallMethod, to));
            Ok(found.len())
        })
    }
}

#[test]
fn passes_run_in_order_and_are_logged() {
    let mut module = module();
    let manager = PassManager::new()
        .pass("dead code", passes::eliminate_dead_code)
        .pass("cse", passes::eliminate_common_subexpressions)
        .pass("identities", passes::remove_identities)
        .before("cse", "dead code")
        .until_stable(3);
    assert_eq!(manager.order().unwrap(), ["cse", "dead code", "identities"]);
    let log = manager.run(&mut module).unwrap();
    check(
        &log,
        "cse: 1 change, 6 to 5 nodes
        dead code: no change
        identities: 1 change, 5 to 4 nodes
        cse: no change
        dead code: no change
        identities: no change",
    );
    assert_eq!(log.0[2].lines[1], ["return add"]);
}

#[test]
fn constraints_are_checked() {
    let passes = || PassManager::new().pass("a", |_| Ok(0)).pass("b", |_| Ok(0)).pass("c", |_| Ok(0));
    let error = passes().before("a", "b").before("b", "a").order().unwrap_err();
    check(error.message(), "the constraints on these passes contradict each other: `a`, `b`");
    assert!(passes().before("a", "z").order().is_err());
}

#[test]
fn a_failing_pass_is_named_and_changes_nothing() {
    let mut module = module();
    let before = module.clone();
    let manager = PassManager::new()
        .pass("cse", passes::eliminate_common_subexpressions)
        .pass("broken", |_| Err(Error::argument("no luck")));
    let error = manager.run(&mut module).unwrap_err();
    check(error.message(), "the pass `broken` failed, after cse: no luck");
    assert_eq!(module.graph(), before.graph());
    let checked =
        PassManager::new().pass("swap", swap("relu", "neg")).check(|module| match module.graph().find("relu") {
            Some(id) if module.graph()[id].target().name() == "relu" => Ok(()),
            _ => Err(Error::argument("relu is gone")),
        });
    check(checked.run(&mut module).unwrap_err().message(), "the pass `swap` failed, before any other: relu is gone");
}

#[test]
fn the_pass_that_breaks_it_is_found() {
    let manager = PassManager::new()
        .pass("identities", passes::remove_identities)
        .pass("cse", passes::eliminate_common_subexpressions)
        .pass("wrong", swap("relu", "neg"))
        .pass("dead code", passes::eliminate_dead_code);
    let x = Tensor::from([1.0_f32, -1.0]);
    let wanted = module().forward(&x).unwrap();
    let is_good = |module: &GraphModule| Ok(module.forward(&x)?.all_close(&wanted, 0.0, 0.0));
    assert_eq!(manager.bisect(&module(), is_good).unwrap(), Some("wrong"));
    assert_eq!(manager.bisect(&module(), |_| Ok(true)).unwrap(), None);
    assert!(manager.bisect(&module(), |_| Ok(false)).is_err());
}
