//! Transforms: calls replaced by what plain functions record, hooks that rewrite while the graph is captured anew, and
//! the passes that come with fx.
//!
//! ```text
//! cargo run --example 07_transform
//! ```

use fx::graph::Node;
use fx::interpreter::{Hooks, Interpretable, Run};
use fx::passes::{self, PassManager};
use fx::prelude::*;
use fx::trace::{DefaultTracer, transform};
use fx::{Arg, Function, Interpreter, Kwargs, functional, nn, ops};

/// Replaces `relu` by `gelu`. Written for every value, it changes what a run computes and what a capture records.
struct Smooth;

impl<V: Interpretable> Hooks<V> for Smooth {
    fn call_method(
        &mut self,
        run: &mut Run<'_, V>,
        node: &Node,
        method: Function,
        args: Vec<Arg<V>>,
        kwargs: Kwargs<V>,
    ) -> fx::Result<Arg<V>> {
        let method = if method == ops::relu { ops::gelu } else { method };
        run.call_method(node, method, args, kwargs)
    }
}

#[traceable]
struct Model {
    conv: nn::Conv2d,
    norm: nn::BatchNorm2d,
    dropout: nn::Dropout,
}

#[traceable]
impl Model {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.dropout.forward(self.norm.forward(self.conv.forward(x))).relu();
        y.relu6() + y.relu6()
    }
}

fn main() -> fx::Result<()> {
    let model = Model { conv: nn::Conv2d::new(3, 4, 3), norm: nn::BatchNorm2d::new(4), dropout: nn::Dropout::new(0.1) };
    model.eval();
    let traced = fx::trace(&model)?;
    let x = Tensor::randn([1, 3, 8, 8]);

    // One override, two uses: an interpreter runs it, a transform captures it.
    let smooth = transform(&traced, Smooth)?;
    let run = Interpreter::with_hooks(&traced, Smooth).run(vec![Arg::Value(x.clone())])?;
    let run = run.as_value().expect("the model gives a tensor");
    assert!(smooth.forward(&x)?.all_close(run, 1e-6, 1e-6));

    // A decomposition is a plain function of proxies of a call's arguments; the rest of the graph stays as it is.
    let mut module = traced.clone();
    let count = module.rewrite(DefaultTracer, |call| {
        let input = call.args.first().and_then(Arg::as_value).filter(|_| call.function() == Some(ops::relu));
        Ok(input.map(|x| Arg::Value(functional::gt(x, 0.0) * x)))
    })?;
    println!("{count} relu written as (x > 0) * x:\n{}\n", module.graph());
    assert!(module.forward(&x)?.all_close(&traced.forward(&x)?, 1e-6, 1e-6));

    // The passes that come with fx, checked after each, with a log.
    let wanted = traced.forward(&x)?;
    let input = x.clone();
    let mut module = traced.clone();
    let log = PassManager::new()
        .pass("remove dropout", passes::remove_dropout)
        .pass("fuse conv-bn", passes::fuse_conv_bn)
        .pass("common subexpressions", passes::eliminate_common_subexpressions)
        .before("remove dropout", "fuse conv-bn")
        .check(move |module| match module.forward(&input)?.all_close(&wanted, 1e-4, 1e-5) {
            true => Ok(()),
            false => Err(fx::Error::argument("the numbers have changed")),
        })
        .run(&mut module)?;
    println!("{log}\n\n{}", module.graph());
    assert_eq!(module.graph().len(), 8);
    Ok(())
}
