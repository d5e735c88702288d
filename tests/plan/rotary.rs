//! Rotary position embeddings in a plan: written out in several ways they are one step, which gives what the interpreter gives.

use fx::ops::CatOptions;
use fx::prelude::*;
use fx::{Arg, GraphModule, Interpreter};

/// `[-b, a]` of halves `[a, b]`, cut by slices.
#[traceable]
fn rotate_half(x: &Tensor) -> Tensor {
    let half = x.size(-1) / 2;
    let (a, b) = (x.narrow(-1, 0, &half), x.narrow(-1, &half, &half));
    Tensor::cat_with([-b, a], CatOptions::new().dim(-1))
}

#[traceable]
fn rotary(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
    x.transpose(1, 2) * cos + rotate_half(x.transpose(1, 2)) * sin
}

/// The plan's text, after it was seen to give what the interpreter gives, to the last bit.
#[track_caller]
fn planned(module: &GraphModule, inputs: [&Tensor; 3]) -> String {
    let args: Vec<_> = inputs.iter().map(|x| Arg::Value((*x).clone())).collect();
    let Arg::Value(expected) = Interpreter::new(module).run(args).unwrap() else { panic!("one tensor") };
    assert_eq!(module.forward((inputs[0], inputs[1], inputs[2])).unwrap(), expected);
    module.plan((inputs[0], inputs[1], inputs[2])).unwrap().to_string()
}

/// How often a text has another.
fn count(text: &str, of: &str) -> usize {
    text.matches(of).count()
}

#[test]
fn embeddings_are_one_step() {
    let module = fx::trace_fn!(rotary).unwrap();
    for (factors, width) in [([7, 8].as_slice(), 8), (&[1, 1, 7, 64], 64), (&[2, 1, 7, 6], 6)] {
        let x = Tensor::randn([2, 7, 3, width]);
        let text = planned(&module, [&x, &Tensor::randn(factors), &Tensor::randn(factors)]);
        assert!(count(&text, &format!("rotary embedding of {width} ")) == 1 && !text.contains("cat of"), "{text}");
    }
}

/// Cut by `chunk`, with the product of sines first, a part of each head, factors that are known, halves that are kept, and queries and keys by turns.
#[test]
fn embeddings_are_written_in_other_ways() {
    let (cos, sin) = (Tensor::randn([7, 8]), Tensor::randn([7, 8]));
    let x = Tensor::randn([2, 3, 7, 8]);
    let chunks = fx::trace_fn!(|x, cos, sin| {
        let halves = x.chunk::<2>(3);
        let turned = fx::Proxy::cat_with([-&halves[1], halves[0].clone()], CatOptions::new().dim(3));
        sin * turned + cos * x
    });
    let part = fx::trace_fn!(|x, cos, sin| {
        let (x, rest) = (x.narrow(3, 0, 8), x.narrow(3, 8, 3));
        let halves = x.chunk::<2>(-1);
        let turned = fx::Proxy::cat_with([-&halves[1], halves[0].clone()], CatOptions::new().dim(-1));
        fx::Proxy::cat_with([&x * cos + turned * sin, rest], CatOptions::new().dim(-1))
    });
    // Somebody else reads a half too.
    let half = fx::trace_fn!(|x, cos, sin| {
        let halves = x.chunk::<2>(3);
        let turned = fx::Proxy::cat_with([-&halves[1], halves[0].clone()], CatOptions::new().dim(3));
        (&x * cos + turned * sin).narrow(3, 0, 4) + &halves[1]
    });
    let known = fx::trace_fn!(|x, y, z| {
        let [cos, sin] = [&cos, &sin].map(|x| fx::Proxy::constant(x));
        let [x, y] = [x + &z, y * z].map(|x| {
            let halves = x.chunk::<2>(3);
            let turned = fx::Proxy::cat_with([-&halves[1], halves[0].clone()], CatOptions::new().dim(3));
            x * &cos + turned * &sin
        });
        x - y
    });
    let wide = Tensor::randn([2, 3, 7, 11]);
    for (module, inputs, all) in [
        (chunks, [&x, &cos, &sin], 1),
        (half, [&x, &cos, &sin], 1),
        (part, [&wide, &cos, &sin], 1),
        (known, [&x, &x, &x], 2),
    ] {
        let text = planned(&module.unwrap(), inputs);
        assert_eq!(count(&text, "rotary embedding of 8"), all, "{text}");
    }
}

/// What only looks like one stays what it is: other halves, halves in the other order, products that somebody else reads too, factors of one
/// number for a row.
#[test]
fn others_are_not_embeddings() {
    let (x, cos, sin) = (Tensor::randn([2, 7, 8]), Tensor::randn([7, 8]), Tensor::randn([7, 8]));
    macro_rules! turned {
        ($lower:expr, $upper:expr) => {
            fx::Proxy::cat_with([-$upper, $lower], CatOptions::new().dim(-1))
        };
    }
    let others = [
        fx::trace_fn!(|x, cos, sin| &x * &cos + turned!(x.narrow(2, 4, 4), x.narrow(2, 0, 4)) * sin),
        fx::trace_fn!(|x, cos, sin| &x * &cos + turned!(x.narrow(2, 0, 4), x.narrow(2, 3, 4)) * sin),
        fx::trace_fn!(|x, cos, sin| &x * &cos + turned!(x.narrow(2, 0, 2), x.narrow(2, 2, 6)) * sin),
        fx::trace_fn!(|x, cos, sin| &x * &cos + turned!(cos.narrow(1, 0, 4), cos.narrow(1, 4, 4)) * sin),
        fx::trace_fn!(|x, cos, sin| {
            let product = &x * &cos;
            &product + turned!(x.narrow(2, 0, 4), x.narrow(2, 4, 4)) * sin * &product
        }),
        fx::trace_fn!(|x, cos, sin| &x * cos.narrow(1, 0, 1) + turned!(x.narrow(2, 0, 4), x.narrow(2, 4, 4)) * sin),
    ];
    for (index, module) in others.into_iter().enumerate() {
        let module = module.unwrap();
        let args: Vec<_> = [&x, &cos, &sin].iter().map(|x| Arg::Value((*x).clone())).collect();
        let Arg::Value(expected) = Interpreter::new(&module).run(args).unwrap() else { panic!("one tensor") };
        assert!(module.forward((&x, &cos, &sin)).unwrap().all_close(&expected, 1e-5, 1e-5));
        let text = module.plan((&x, &cos, &sin)).unwrap().to_string();
        assert!(!text.contains("rotary"), "{index}: {text}");
    }
}
