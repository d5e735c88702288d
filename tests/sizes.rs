//! Symbolic sizes wherever PyTorch code has them: every way to run gives what plain numbers give.

#[path = "support/sizes.rs"]
mod sizes;

use fx::interpreter::NoHooks;
use fx::ops::InterpolateOptions;
use fx::passes::infer_shapes;
use fx::prelude::*;
use fx::value::Dim;
use fx::{Arg, Graph, GraphModule, Interpreter, Meta};
use sizes::{with_numbers, with_sizes};

/// Shapes of `x` and `y`.
const SHAPES: [[[usize; 4]; 2]; 3] =
    [[[2, 4, 5, 7], [2, 4, 8, 3]], [[1, 2, 4, 6], [3, 2, 2, 6]], [[3, 6, 9, 5], [3, 6, 1, 4]]];

fn traced() -> GraphModule {
    fx::trace_fn!(with_sizes, (2_usize,)).unwrap()
}

fn inputs([x, y]: [[usize; 4]; 2]) -> [Tensor; 2] {
    [Tensor::randn(x), Tensor::randn(y)]
}

/// Checks what a run gave against plain numbers.
#[track_caller]
fn agree(way: &str, found: &[Tensor], [x, y]: &[Tensor; 2]) {
    let expected = with_numbers(x, y, 2);
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()), "{way}, result {i}");
        assert!(found.all_close(expected, 1e-6, 1e-6), "{way}, result {i}");
    }
}

fn tensors(result: Arg<Tensor>) -> Vec<Tensor> {
    result.as_items().unwrap().iter().map(|item| item.as_value().unwrap().clone()).collect()
}

#[test]
fn one_trace_serves_sizes_of_every_input() {
    let traced = traced();
    let parsed: Graph = traced.graph().to_string().parse().unwrap();
    assert_eq!(&parsed, traced.graph());
    assert_eq!(fx::trace::transform(&traced, NoHooks).unwrap().graph(), traced.graph());
    for shapes in SHAPES {
        let inputs = inputs(shapes);
        let args = || inputs.iter().cloned().map(Arg::Value).collect::<Vec<_>>();
        agree("eager", &with_sizes(&inputs[0], &inputs[1], 2), &inputs);
        agree("interpreted", &tensors(Interpreter::new(&traced).run(args()).unwrap()), &inputs);
        agree("planned", &tensors(traced.run(args()).unwrap()), &inputs);
    }
}

#[test]
fn sizes_stay_in_the_graph() {
    let graph = traced().graph().to_string();
    for line in [
        "(args = (%x,), kwargs = {size: (%getitem_2, %getitem_3), mode: bilinear, align_corners: False})",
        "(args = (%x,), kwargs = {size: (%getitem_2, 6)})",
        "(args = (%x,), kwargs = {pad: (0, %remainder_1)})",
        "(args = (), kwargs = {end: %add_1, start: %sub_3, step: 2})",
    ] {
        assert!(graph.contains(line), "{line} in\n{graph}");
    }
}

#[test]
fn shapes_are_those_of_a_run() {
    let symbol = |name| Dim::symbol(name, 1);
    let (x, y) = (["N", "C", "H", "W"].map(symbol), ["M", "C", "P", "Q"].map(symbol));
    let mut traced = traced();
    let found = infer_shapes(&mut traced, [x, y].map(|shape| Meta::tensor(shape, DType::F32))).unwrap();
    let metas: Vec<_> = found.output.as_items().unwrap().iter().map(|item| item.as_value().unwrap()).collect();
    let texts = [0, 1, 2, 4, 5, 10, 11, 12, 16, 20].map(|i| metas[i].to_string());
    assert_eq!(
        texts.join("\n"),
        "f32[N, C, P, Q]\nf32[N, C, P, 6]\nf32[N, C, 2*Q, 2*Q]\nf32[N, C, H, W + (Q - W%Q)%Q]\n\
         f32[N, C, H + Q/2 + (Q - W%Q)%Q, W + Q/2 + (Q - W%Q)%Q]\nf32[N, C, H, min(Q, W)]\nf32[N, C, H, Q]\n\
         f32[N, C, H, W - W/2]\nf32[N, C, H, W]\ni64[Q/2 + 1]"
    );
    for shapes in SHAPES {
        let inputs = inputs(shapes);
        let known = |name: &str| {
            let [[n, c, h, w], [m, _, p, q]] = shapes;
            let place = ["N", "C", "H", "W", "M", "P", "Q"].iter().position(|have| *have == name)?;
            Some(Dim::from([n, c, h, w, m, p, q][place]))
        };
        for (i, (meta, tensor)) in metas.iter().zip(with_numbers(&inputs[0], &inputs[1], 2)).enumerate() {
            let shape = meta.as_tensor().unwrap().shape.iter().map(|dim| dim.substitute(&known));
            assert_eq!(Meta::tensor(shape, tensor.dtype()), Meta::from(&tensor), "result {i}, {meta}");
        }
    }
}

#[traceable]
fn resized(x: &Tensor, h: &SymInt<Tensor>, w: SymInt<Tensor>) -> (Tensor, SymInt<Tensor>) {
    (x.interpolate_with(InterpolateOptions::new().size((h, &w))), h * w)
}

#[traceable]
#[derive(Clone)]
struct Scaled {
    by: usize,
}

#[traceable]
impl Scaled {
    fn forward(&self, x: &Tensor, h: &SymInt<Tensor>) -> (Tensor, SymInt<Tensor>) {
        let (x, area) = resized(x, &(h * self.by), x.size(-1));
        (x / &area, area)
    }
}

#[traceable]
fn with_parts(x: &Tensor, y: &Tensor) -> Tensor {
    let (x, area) = (Scaled { by: 2 }).forward(x, &y.size(2));
    x * area
}

#[test]
fn sizes_are_parameters_and_results() {
    let traced = fx::trace(&Scaled { by: 3 }).unwrap();
    let x = Tensor::randn([1, 2, 4, 5]);
    let (eager, area) = Scaled { by: 3 }.forward(&x, &SymInt::from(2));
    assert_eq!((eager.shape(), area.as_arg()), (&[1, 2, 6, 5][..], &Arg::Int(30)));
    let planned = traced.run(vec![Arg::Value(x.clone()), Arg::Int(2)]).unwrap();
    let [Arg::Value(found), Arg::Int(30)] = planned.as_items().unwrap() else { panic!("{planned:?}") };
    assert!(found.all_close(&eager, 1e-6, 1e-6));

    let traced = fx::trace_fn!(with_parts).unwrap();
    let y = traced.forward((&x, Tensor::ones([1, 1, 4, 1]))).unwrap();
    assert!(y.all_close(&with_parts(&x, Tensor::ones([1, 1, 4, 1])), 1e-6, 1e-6));
    assert_eq!(y.shape(), [1, 2, 8, 5]);
}

#[test]
fn scale_factors_are_numbers_and_lists() {
    let x = Tensor::randn([1, 2, 4, 5]);
    let scaled = |options: InterpolateOptions<Tensor>| x.interpolate_with(options);
    let twice = scaled(InterpolateOptions::new().size([8, 10]));
    for options in [
        InterpolateOptions::new().scale_factor(2),
        InterpolateOptions::new().scale_factor(2.0),
        InterpolateOptions::new().scale_factor([2, 2]),
        InterpolateOptions::new().scale_factor([2.0, 2.0]),
        InterpolateOptions::new().scale_factor([2.0_f32, 2.0].as_slice()),
        InterpolateOptions::new().scale_factor(vec![2.0, 2.0]),
    ] {
        assert!(scaled(options).all_close(&twice, 0.0, 0.0));
    }
    assert!(fx::nn::Upsample::scale_factor(2).forward(&x).all_close(&twice, 0.0, 0.0));
}
