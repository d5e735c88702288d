//! The number of parts that a program takes is a part of the program: another one is an error in every mode.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use fx::interpreter::NoHooks;
use fx::prelude::*;
use fx::trace::{InputForms, Leaves};
use fx::value::Dim;
use fx::{Arg, GraphModule, Interpreter, Meta};
use support::check;

#[traceable]
fn rows(x: &Tensor) -> Tensor {
    let [a, b] = x.unbind(0);
    a + b
}

#[traceable]
fn pieces(x: &Tensor) -> Tensor {
    let [a, _] = x.split(2, 0);
    a
}

#[traceable]
fn halves(x: &Tensor) -> Tensor {
    let [a, _] = x.chunk(0);
    a
}

#[traceable]
fn section(x: &Tensor) -> Tensor {
    x.split_sizes(&[2], 0).remove(0)
}

#[traceable]
fn sizes(x: &Tensor) -> Tensor {
    let [n, c] = x.sizes();
    x.reshape((c, n, -1))
}

/// What every mode says of an argument for which it is an error.
fn errors(traced: &GraphModule, eager: impl Fn(Tensor) -> Tensor, x: &Tensor) -> [String; 5] {
    let panic = catch_unwind(AssertUnwindSafe(|| eager(x.clone()))).unwrap_err();
    let mut optimized = traced.clone();
    fx::passes::optimize(&mut optimized).unwrap();
    let metas = [Meta::from(x)];
    [
        panic.downcast_ref::<String>().unwrap().clone(),
        traced.forward(x).unwrap_err().to_string(),
        Interpreter::new(traced).run(vec![Arg::Value(x.clone())]).unwrap_err().to_string(),
        fx::passes::infer_shapes(&mut traced.clone(), metas).unwrap_err().to_string(),
        optimized.forward(x).unwrap_err().to_string(),
    ]
}

/// A capture, its function, a shape that it is written for, one that it is not, and what is said of that.
type Case = (fx::Result<GraphModule>, fn(Tensor) -> Tensor, [usize; 3], [usize; 3], &'static str);

#[test]
fn another_number_of_parts_is_an_error_in_every_mode() {
    let cases: [Case; 5] = [
        (fx::trace_fn!(rows), |x| rows(x), [2, 5, 1], [5, 2, 1], "unbind(f32[5, 2, 1]): the number of slices is 5"),
        (fx::trace_fn!(pieces), |x| pieces(x), [3, 1, 1], [6, 1, 1], "split(f32[6, 1, 1]): the number of parts is 3"),
        (fx::trace_fn!(pieces), |x| pieces(x), [4, 1, 1], [2, 1, 1], "split(f32[2, 1, 1]): the number of parts is 1"),
        (fx::trace_fn!(halves), |x| halves(x), [3, 1, 1], [1, 1, 1], "chunk(f32[1, 1, 1]): the number of parts is 1"),
        (fx::trace_fn!(section), |x| section(x), [2, 1, 1], [5, 1, 1], "split(f32[5, 1, 1]): the number of parts is 3"),
    ];
    for (traced, eager, right, wrong, what) in cases {
        let traced = traced.unwrap();
        let x = Tensor::rand(right);
        assert_eq!(traced.forward(&x).unwrap(), eager(x));
        for error in errors(&traced, eager, &Tensor::rand(wrong)) {
            assert!(error.starts_with(what) && error.contains("where the program is written for"), "{error}");
            assert!(error.contains("at tests/counts.rs:"), "{error}");
        }
    }
}

#[test]
fn another_number_of_dimensions_is_an_error_in_every_mode() {
    let traced = fx::trace_fn!(sizes).unwrap();
    check(
        traced.graph(),
        "graph():
            %x : [num_users=2] = placeholder[target=x]
            %size : [num_users=2] = call_method[target=size](args = (%x,), kwargs = {count: 2})
            %getitem : [num_users=1] = call_function[target=getitem](args = (%size, 0), kwargs = {})
            %getitem_1 : [num_users=1] = call_function[target=getitem](args = (%size, 1), kwargs = {})
            %reshape : [num_users=1] = call_method[target=reshape](args = (%x,), kwargs = {shape: (%getitem_1, %getitem, -1)})
            return reshape",
    );
    assert_eq!(traced.forward(Tensor::rand([2, 3])).unwrap().shape(), [3, 2, 1]);
    let line = traced.graph().nodes().nth(1).unwrap().1.meta().location().unwrap().line;
    for error in errors(&traced, sizes, &Tensor::rand([2, 3, 4])) {
        let what = "size(f32[2, 3, 4]): the number of dimensions is 3, where the program is written for 2";
        assert!(error.starts_with(what) && error.contains(&format!("at tests/counts.rs:{line}:")), "{error}");
    }
}

/// Nodes that `sizes` records, and what is wrong with them, are at the user's line.
#[test]
fn sizes_are_recorded_at_the_users_line() {
    let traced = fx::trace_fn!(|x| {
        let [n, c] = x.sizes();
        x.reshape((c, n))
    })
    .unwrap();
    for (_, node) in traced.graph().nodes().filter(|(_, node)| !node.args().is_empty() && node.name() != "output") {
        assert_eq!(&*node.meta().location().unwrap().file, "tests/counts.rs", "{}", node.name());
    }
}

#[test]
fn a_symbolic_size_is_assumed_to_be_the_number_of_slices() {
    let mut traced = fx::trace_fn!(rows).unwrap();
    let shapes = fx::passes::infer_shapes(&mut traced, [Meta::tensor([Dim::symbol("N", 1), Dim::Int(3)], DType::F32)]);
    assert_eq!(shapes.unwrap().assumptions.to_string(), "N = 2");
}

#[traceable]
#[derive(Clone)]
struct Sum;

#[traceable]
impl Sum {
    fn forward(&self, xs: Vec<Tensor>) -> Tensor {
        let [first, rest @ ..] = &xs[..] else { return Tensor::zeros([2]) };
        rest.iter().fold(first.clone(), |sum, x| sum + x)
    }
}

#[traceable]
fn nested(pairs: [(Tensor, Tensor); 2]) -> Tensor {
    let [(a, b), (c, d)] = pairs;
    a + b + c + d
}

#[test]
fn inputs_have_as_many_elements_as_the_trace_takes() {
    let list = fx::trace_by(InputForms::new().list("xs", 2), &Sum, ()).unwrap();
    let list = [fx::trace::transform(&list, NoHooks).unwrap(), list];
    let x = || Tensor::ones([2]);
    let values = |count| Arg::List((0..count).map(|_| Arg::Value(x())).collect::<Vec<_>>());
    let check = |traced: &GraphModule, arg: Arg<Tensor>, fits: bool, what: &str| {
        let metas = arg.map(&mut |x| Meta::from(x));
        let results = [
            traced.forward((arg.clone(),)).map(drop),
            Interpreter::new(traced).run(vec![arg]).map(drop),
            fx::passes::infer_shapes(&mut traced.clone(), [metas]).map(drop),
        ];
        for result in results {
            match result {
                Ok(()) => assert!(fits),
                Err(error) => assert!(!fits && error.to_string().contains(what), "{error}"),
            }
        }
    };
    for traced in &list {
        check(traced, values(2), true, "");
        check(traced, values(3), false, "the number of elements is 3, where the program is written for 2");
        check(traced, values(1), false, "the number of elements is 1, where the program is written for 2");
    }
    let traced = fx::trace_fn!(nested).unwrap();
    check(&traced, Arg::List(vec![values(2), values(2)]), true, "");
    check(&traced, Arg::List(vec![values(2), values(3)]), false, "the number of elements is 3");
    check(&traced, Arg::List(vec![values(2), values(2), values(2)]), false, "the number of elements is 3");
}

#[test]
fn a_captured_model_gives_as_many_elements_as_its_caller_takes() {
    let three = fx::trace_fn!(|x| (x.relu(), x.abs(), x)).unwrap();
    let outer = Outer { inner: three };
    let error = fx::trace(&outer).unwrap_err().to_string();
    assert!(error.contains("expected 2 elements, found 3"), "{error}");
    let traced = fx::trace_by(Leaves::All, &outer, ()).unwrap();
    let flat = fx::passes::inline_submodules(&traced).unwrap();
    for traced in [traced, flat] {
        let error = traced.forward(Tensor::ones([2])).expect_err(&traced.graph().to_string()).to_string();
        assert!(error.contains("the number of elements is 3, where the program is written for 2"), "{error}");
    }
}

#[traceable]
#[derive(Clone)]
struct Outer {
    inner: GraphModule,
}

#[traceable]
impl Outer {
    fn forward(&self, x: &Tensor) -> Tensor {
        let (a, b) = self.inner.call::<Tensor, (Tensor, Tensor)>([x.clone()]);
        a + b
    }
}

#[test]
fn an_input_that_is_not_as_the_tracer_says_is_named() {
    let error = fx::trace_by(InputForms::new().list("ys", 2), &Sum, ()).unwrap_err().to_string();
    assert!(error.starts_with("there is no input `ys`; the inputs are xs"), "{error}");
    let error = fx::trace(&Sum).unwrap_err().to_string();
    assert!(error.starts_with("the input `xs`: expected a list, found a value"), "{error}");
    let error = fx::trace_by(InputForms::new().absent("xs"), &Sum, ()).unwrap_err().to_string();
    assert!(error.starts_with("the input `xs`: expected a list, found None"), "{error}");
}
