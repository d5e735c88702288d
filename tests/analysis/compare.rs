//! Where two models, or two ways to run one, begin to differ.

use fx::ops::Tolerance;
use fx::passes::{bisect, compare, minimize, prefix};
use fx::prelude::*;
use fx::{Arg, GraphModule, Interpreter};

use super::{check, small};

const CLOSE: Tolerance = Tolerance { rtol: 1e-5, atol: 1e-6 };

fn x() -> Tensor {
    Tensor::rand([2, 3, 8, 8])
}

/// The model with `relu` clamped from above, as a faulty pass might leave it.
fn broken() -> (GraphModule, GraphModule) {
    let module = small();
    let mut broken = module.clone();
    broken
        .edit(|graph| {
            let mean = graph.find("mean").unwrap();
            let relu = graph.find("relu").unwrap();
            let scaled =
                graph.inserting_before(mean, |graph| graph.call_function(fx::ops::mul, [relu.into(), Arg::Float(1.5)]));
            graph.replace_uses_if(relu, scaled, |_, user| user == mean);
            Ok(())
        })
        .unwrap();
    (module, broken)
}

#[test]
fn equal_models_do_not_differ() {
    let module = small();
    assert_eq!(compare(&module, &module.clone(), x(), CLOSE).unwrap(), []);
    assert_eq!(bisect(&module, &module.clone(), x(), CLOSE).unwrap(), None);
}

#[test]
fn the_first_difference_is_found() {
    let (module, broken) = broken();
    let found = compare(&module, &broken, x(), CLOSE).unwrap();
    let names: Vec<_> = found.iter().map(|difference| difference.name.as_str()).collect();
    assert_eq!(names, ["mean", "fc", "output"]);
    let text = found[0].to_string();
    assert!(text.starts_with("%mean: f32[2, 4] is off by up to "), "{text}");
    assert!(text.contains("\n  in %mean : ") && text.contains("args = (%relu,)"), "{text}");
    assert!(text.contains("\n  and %mean : ") && text.contains("args = (%mul,)"), "{text}");
    assert!(text.contains("\n  at tests/analysis/main.rs:"), "{text}");
}

#[test]
fn bisection_finds_the_same() {
    let (module, broken) = broken();
    let input = x();
    let found = compare(&module, &broken, &input, CLOSE).unwrap();
    assert_eq!(bisect(&module, &broken, &input, CLOSE).unwrap().as_ref(), found.first());
}

#[test]
fn shapes_that_differ_are_said() {
    let a = fx::trace_fn!(|x| x.relu().sum()).unwrap();
    let mut b = a.clone();
    b.edit(|graph| {
        let relu = graph.find("relu").unwrap();
        graph.set_call(relu, Opcode::CallMethod, "flatten");
        Ok(())
    })
    .unwrap();
    let found = compare(&a, &b, Tensor::ones([2, 3]), CLOSE).unwrap();
    assert_eq!(found.len(), 1);
    check(&found[0].message, "f32[2, 3] is not f32[6]");
}

#[test]
fn a_prefix_ends_at_its_node() {
    let module = small();
    let relu = module.graph().find("relu").unwrap();
    let prefix = prefix(&module, relu).unwrap();
    check(
        prefix.graph(),
        "graph():
    %x : [num_users=1] = placeholder[target=x]
    %stem_conv : [num_users=1] = call_module[target=stem.conv](args = (%x,), kwargs = {})
    %stem_bn : [num_users=1] = call_module[target=stem.bn](args = (%stem_conv,), kwargs = {})
    %relu : [num_users=1] = call_method[target=relu](args = (%stem_bn,), kwargs = {})
    return relu",
    );
    assert_eq!(prefix.state().modules.len(), 2, "what is not needed is left out");
}

/// Runs a module, and gets every `relu` wrong.
fn faulty(module: &GraphModule, args: Vec<Arg<Tensor>>) -> fx::Result<Arg<Tensor>> {
    let output = module.run(args)?;
    let wrong = !module.graph().find_nodes(Opcode::CallMethod, "relu").is_empty();
    Ok(if wrong { output.map(&mut |tensor| tensor + 0.5) } else { output })
}

#[test]
fn one_way_to_run_is_held_against_another() {
    let module = small();
    let interpreted = |module: &GraphModule, args| Interpreter::new(module).run(args);
    assert_eq!(minimize(&module, x(), CLOSE, interpreted, |module, args| module.run(args)).unwrap(), []);
    let found = minimize(&module, x(), CLOSE, interpreted, faulty).unwrap();
    let names: Vec<_> = found.iter().map(|difference| difference.name.as_str()).collect();
    assert_eq!(names, ["relu"], "the error does not spread to later nodes");
}
