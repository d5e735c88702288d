use fx::nn;
use fx::passes::{Part, Pattern, replace_pattern};
use fx::prelude::*;
use fx::{Graph, GraphModule, functional, ops};

use super::fill::{fill, floats};
use super::{check_close, support::check};

/// Replaces and checks the calls that are left, by their names, and the number of matches.
#[track_caller]
fn check_calls(module: GraphModule, pattern: Pattern, replacement: impl Into<Part>, calls: &str) {
    let mut module = module;
    let found = pattern.find(&module).len();
    assert_eq!(pattern.replace(&mut module, replacement).unwrap().len(), found);
    check(names(&module), calls);
}

fn names(module: &GraphModule) -> String {
    let calls = module.graph().nodes().filter(|(_, node)| node.function().is_some() || node.op() == Opcode::CallModule);
    calls.map(|(_, node)| node.target().name()).collect::<Vec<_>>().join(" ")
}

fn pattern(module: fx::Result<GraphModule>) -> Pattern {
    Pattern::new(module.unwrap()).unwrap()
}

fn sigmoids(count: usize) -> GraphModule {
    fx::trace_fn!(|x| (0..count).fold(x, |x, _| x.sigmoid())).unwrap()
}

fn relus(count: usize) -> GraphModule {
    fx::trace_fn!(|x| (0..count).fold(x, |x, _| x.relu())).unwrap()
}

#[test]
fn matches_do_not_overlap_and_the_first_wins() {
    let neg = || fx::trace_fn!(|x| x.neg()).unwrap();
    check_calls(sigmoids(4), Pattern::new(sigmoids(2)).unwrap(), neg(), "neg neg");
    check_calls(sigmoids(5), Pattern::new(sigmoids(2)).unwrap(), neg(), "neg neg sigmoid");
    check_calls(relus(3), Pattern::new(relus(2)).unwrap(), relus(1), "relu relu");
}

#[test]
fn until_nothing_matches() {
    let mut module = relus(9);
    let matches = Pattern::new(relus(2)).unwrap().until_stable(9).replace(&mut module, relus(1)).unwrap();
    assert_eq!((names(&module).as_str(), matches.len()), ("relu", 8));
    let before = module.clone();
    let grows = Pattern::new(relus(1)).unwrap().until_stable(3).replace(&mut module, relus(2)).unwrap_err();
    check(grows.message(), "the pattern still matches after 3 rounds");
    assert_eq!(module.graph(), before.graph());
}

#[test]
fn the_result_is_the_replacement() {
    let mut module = fx::trace_fn!(|x, w| (functional::linear(&x, &w, None).relu(), x)).unwrap();
    let pattern = fx::trace_fn!(|a, b| functional::linear(a, b, None).relu()).unwrap();
    let replacement = fx::trace_fn!(|a, b| a.matmul(b.t()).clamp(0.0, None)).unwrap();
    let before = module.clone();
    let matches = replace_pattern(&mut module, &pattern, &replacement).unwrap();
    check(
        module.graph(),
        "graph():
            %x : [num_users=2] = placeholder[target=x]
            %w : [num_users=1] = placeholder[target=w]
            %transpose : [num_users=1] = call_method[target=transpose](args = (%w,), kwargs = {dim0: 0, dim1: 1})
            %matmul : [num_users=1] = call_method[target=matmul](args = (%x, %transpose), kwargs = {})
            %clamp : [num_users=1] = call_method[target=clamp](args = (%matmul,), kwargs = {min: 0.0})
            return (clamp, x)",
    );
    let found = &matches[0];
    assert_eq!(found.nodes.keys().map(String::as_str).collect::<Vec<_>>(), ["relu", "linear", "a", "b"]);
    assert_eq!(found.node("a"), module.graph().find("x"));
    assert_eq!(found.replacements.len(), 3);
    check_close(&before, &module, &[floats("x", &[2, 3]), floats("w", &[4, 3])], 1e-6, 1e-6);
}

#[test]
fn one_input_stands_for_one_thing() {
    let pattern = || pattern(fx::trace_fn!(|a| &a + &a));
    let matches = |module: fx::Result<GraphModule>| pattern().find(&module.unwrap()).len();
    assert_eq!(matches(fx::trace_fn!(|x, y| &x + &x + y)), 1);
    assert_eq!(matches(fx::trace_fn!(|x, y| x + y)), 0);
}

#[test]
fn interior_nodes_have_no_other_user() {
    let pattern = pattern(fx::trace_fn!(|a| a.relu().neg()));
    let module = fx::trace_fn!(|x| {
        let y = x.relu();
        y.neg() + y
    });
    assert_eq!(pattern.find(&module.unwrap()).len(), 0);
}

/// Between the results of the pattern lies a node outside: replaced as a whole, it would need itself.
#[test]
fn a_match_is_convex() {
    let both = || pattern(fx::trace_fn!(|a, b| (a.relu(), b.neg())));
    let apart = fx::trace_fn!(|x, y| x.relu().exp() + y.neg()).unwrap();
    let through = fx::trace_fn!(|x, y| x.relu().exp().neg() + y).unwrap();
    assert_eq!((both().find(&apart).len(), both().find(&through).len()), (1, 0));
}

#[test]
fn several_results() {
    let mut module = fx::trace_fn!(|x, y| {
        let a = x.relu();
        let b = a.exp();
        let c = y.neg();
        b + c
    })
    .unwrap();
    let before = module.clone();
    let pattern = fx::trace_fn!(|a, b| (a.relu(), b.neg())).unwrap();
    let swapped = fx::trace_fn!(|a, b| (a.clamp(0.0, None), 0.0 - b)).unwrap();
    assert_eq!(replace_pattern(&mut module, &pattern, &swapped).unwrap().len(), 1);
    check_close(&before, &module, &[floats("x", &[3]), floats("y", &[3])], 0.0, 0.0);
    assert!(module.graph().find_calls(ops::relu).is_empty());
}

#[test]
fn literals_match_if_they_are_equal() {
    let module = || fx::trace_fn!(|x| x.clamp(0.0, 6.0) * 2.0).unwrap();
    let found = |pattern: Pattern| pattern.find(&module()).len();
    assert_eq!(found(pattern(fx::trace_fn!(|a| a.clamp(0.0, 6.0) * 2_i64))), 1);
    assert_eq!(found(pattern(fx::trace_fn!(|a| a.clamp(0.0, 5.0) * 2.0))), 0);
    assert_eq!(found(pattern(fx::trace_fn!(|a| a.clamp(0.0, 5.0) * 7.0)).ignore_literals()), 1);
    assert_eq!(found(pattern(fx::trace_fn!(|a, b| a.clamp(0.0, 6.0) * b))), 1);
}

#[test]
fn spellings_and_orders_on_request() {
    let relu = nn::ReLU::new();
    let modules = [
        fx::trace_fn!(|x| x.relu() + &x).unwrap(),
        fx::trace_fn!(|x| functional::relu(&x) + &x).unwrap(),
        fx::trace_fn!(|x| &x + relu.forward(&x)).unwrap(),
    ];
    let relu = nn::ReLU::new();
    let patterns = || [pattern(fx::trace_fn!(|a| a.relu() + &a)), pattern(fx::trace_fn!(|a| relu.forward(&a) + &a))];
    let count = |pattern: Pattern| modules.iter().map(|module| pattern.find(module).len()).sum::<usize>();
    assert_eq!(patterns().map(count), [1, 0]);
    assert_eq!(patterns().map(|pattern| count(pattern.any_spelling())), [2, 2]);
    assert_eq!(patterns().map(|pattern| count(pattern.any_spelling().commutative())), [3, 3]);
}

/// Modules match by type and attributes wherever they are; the state of the replacement joins that of the model.
#[test]
fn modules_match_by_what_they_are() {
    let model = nn::Sequential::new((nn::Linear::new(2, 2), nn::ReLU::new(), nn::Linear::new(2, 3), nn::ReLU::new()));
    fill(&model);
    let mut module = fx::trace(&model).unwrap();
    let (linear, relu, gelu) = (nn::Linear::new(2, 2), nn::ReLU::new(), nn::GELU::new());
    let pattern = fx::trace_fn!(|x| relu.forward(linear.forward(x))).unwrap();
    let (bias, scaled) = (Parameter::new(Tensor::ones([2])), Parameter::new(Tensor::ones([2, 2])));
    let replacement = fx::trace_fn!(|x| gelu.forward(functional::linear(x, &scaled, &bias))).unwrap();
    assert_eq!(replace_pattern(&mut module, &pattern, &replacement).unwrap().len(), 1);
    check(
        module.graph(),
        "graph():
            %input : [num_users=1] = placeholder[target=input]
            %_parameter0 : [num_users=1] = get_attr[target=_parameter0]
            %_parameter1 : [num_users=1] = get_attr[target=_parameter1]
            %linear : [num_users=1] = call_function[target=linear](args = (%input, %_parameter0, %_parameter1), kwargs = {})
            %gelu : [num_users=1] = call_module[target=gelu](args = (%linear,), kwargs = {})
            %_2 : [num_users=1] = call_module[target=2](args = (%gelu,), kwargs = {})
            %_3 : [num_users=1] = call_module[target=3](args = (%_2,), kwargs = {})
            return _3",
    );
    assert_eq!(module.state().parameters.len(), 2);
}

/// All orders of all operands are far too many to try.
#[test]
fn a_search_comes_to_an_end() {
    let sum = |last: f64| fx::trace_fn!(|x| (0..40).fold(x * last, |y, _| &y + &y)).unwrap();
    assert_eq!(Pattern::new(sum(1.0)).unwrap().commutative().find(&sum(2.0)).len(), 0);
    assert_eq!(Pattern::new(sum(1.0)).unwrap().commutative().find(&sum(1.0)).len(), 1);
}

#[test]
fn filters_and_callbacks() {
    let module = || fx::trace_fn!(|x| x.clamp(0.0, 1.0).clamp(0.0, 2.0)).unwrap();
    let clamp = || pattern(fx::trace_fn!(|a| a.clamp(0.0, 9.0))).ignore_literals();
    let mut filtered = module();
    let is_one = |graph: &Graph, found: &fx::passes::Match| {
        graph[found.anchor].kwargs().get("max") == Some(&fx::Arg::Float(1.0))
    };
    clamp().filter(is_one).replace(&mut filtered, relus(1)).unwrap();
    check(names(&filtered), "relu clamp");
    let mut called = module();
    let mut count = 0;
    let replaced = clamp().replace_with(&mut called, |_, _, _| {
        count += 1;
        Ok((count == 2).then(|| relus(count).into()))
    });
    assert_eq!(replaced.unwrap().len(), 1);
    check(names(&called), "clamp relu relu");
}

#[test]
fn what_is_no_pattern_is_refused() {
    let error =
        |module: fx::Result<GraphModule>| Pattern::new(module.unwrap()).map(|_| ()).unwrap_err().message().to_owned();
    check(error(fx::trace_fn!(|a| a)), "a pattern gives what it computes, not its inputs or nothing");
    check(
        error(fx::trace_fn!(|a, b| {
            let _ = b;
            a.relu()
        })),
        "the pattern does not use %b",
    );
    check(
        error(fx::trace_fn!(|a| {
            a.neg();
            a.relu()
        })),
        "the pattern does not use %neg",
    );
    let error = replace_pattern(&mut relus(1), relus(1), fx::trace_fn!(|a, b| a + b).unwrap()).unwrap_err();
    check(error.message(), "the pattern has 1 inputs, its replacement 2");
}
