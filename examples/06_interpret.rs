//! Running a graph node by node: with hooks, from the middle, on shapes, and on values of your own.
//!
//! ```text
//! cargo run --release --example 06_interpret
//! ```

use fx::graph::{Node, NodeId};
use fx::interpreter::{Hooks, Interpretable, Run};
use fx::prelude::*;
use fx::trace::transform;
use fx::value::Call;
use fx::{Arg, Function, Interpreter, Kwargs, Meta, Result, nn, ops};

#[traceable]
#[derive(Clone)]
struct Net {
    first: nn::Linear,
    second: nn::Linear,
}

#[traceable]
impl Net {
    fn new() -> Self {
        Self { first: nn::Linear::new(4, 8), second: nn::Linear::new(8, 2) }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        self.second.forward(self.first.forward(x).relu()).softmax(1)
    }
}

/// Notes the range of every tensor, as a calibration for quantisation does.
#[derive(Default)]
struct Ranges(Vec<(String, f64, f64)>);

impl Hooks<Tensor> for &mut Ranges {
    fn run_node(&mut self, run: &mut Run<'_, Tensor>, id: NodeId) -> Result<Arg<Tensor>> {
        let value = run.dispatch(self, id)?;
        if let Arg::Value(tensor) = &value {
            let name = run.module().graph()[id].name().to_owned();
            self.0.push((name, tensor.min().item().to_f64(), tensor.max().item().to_f64()));
        }
        Ok(value)
    }
}

/// Gives `tanh` for `relu`, whatever the values are: on tensors it computes, on proxies it rewrites.
struct TanhForRelu;

impl<V: Interpretable> Hooks<V> for TanhForRelu {
    fn call_method(
        &mut self,
        run: &mut Run<'_, V>,
        node: &Node,
        method: Function,
        args: Vec<Arg<V>>,
        kwargs: Kwargs<V>,
    ) -> Result<Arg<V>> {
        if method == ops::relu {
            return V::apply(Call { args, kwargs, ..Call::method(ops::tanh) });
        }
        run.call_method(node, method, args, kwargs)
    }
}

/// How many calls led to a value: an interpretation that fx does not know.
#[derive(Clone, Debug, PartialEq)]
struct Depth(usize);

impl Value for Depth {
    fn apply(call: Call<'_, Self>) -> Result<Arg<Self>> {
        let mut depth = 0;
        call.for_each_value(|value| depth = depth.max(value.0 + 1));
        Ok(Arg::Value(Depth(depth)))
    }
}

fx::value_operators!(Depth);

/// Leaf modules need no rule of their own: they are run by the functions of their `forward`.
impl Interpretable for Depth {}

fn main() -> Result<()> {
    let traced = fx::trace(&Net::new())?;
    let x = Tensor::rand([3, 4]);

    let mut ranges = Ranges::default();
    let plain = Interpreter::with_hooks(&traced, &mut ranges).run(vec![Arg::Value(x.clone())])?;
    println!("The range of every value:");
    for (name, low, high) in &ranges.0 {
        println!("  {name:<10} {low:>7.3} .. {high:.3}");
    }

    let changed = Interpreter::with_hooks(&traced, TanhForRelu).run(vec![Arg::Value(x.clone())])?;
    let rewritten = transform(&traced, TanhForRelu)?;
    // The plan of the rewritten model rounds in other places.
    assert!(
        changed.as_value().is_some_and(|changed| rewritten.forward(&x).is_ok_and(|y| y.all_close(changed, 1e-4, 1e-5)))
    );
    assert_ne!(plain, changed);
    println!("\nThe same override as a transform:\n{}", rewritten.graph());

    // From the middle: what has a value is not run, nor is what only that needs.
    let relu = traced.graph().find("relu").expect("the model has a relu");
    let start = [(relu, Arg::Value(Tensor::ones([1, 8])))];
    let (output, _) = Interpreter::new(&traced).with_env(start).run_with_env(vec![Arg::Value(Tensor::ones([1, 4]))])?;
    println!("\nFrom ones after the relu: {output:?}");

    let shape = Interpreter::<Meta>::new(&traced).run(vec![Arg::Value(Meta::tensor([3, 4], DType::F32))])?;
    println!("\nWithout data: {shape:?}");

    let depth = Interpreter::<Depth>::new(&traced).run(vec![Arg::Value(Depth(0))])?;
    println!("The longest chain of calls: {depth:?}");

    let error = Interpreter::new(&traced).run(vec![Arg::Value(Tensor::ones([3, 5]))]).expect_err("5 is not 4");
    println!("\nAn error says what, where in the graph, and where in the source:\n{error}");
    Ok(())
}
