//! Attention and stacks of products in a plan: masks that are known, values with many dimensions, stacks that repeat.

use fx::prelude::*;

use super::check;

/// Sees that a function of a tensor gives what the interpreter gives, by kernels alone, and what they are.
macro_rules! planned {
    ($shape:expr, $text:literal, |$x:ident| $body:expr) => {{
        let module = fx::trace_fn!(|$x| $body).unwrap();
        let x = Tensor::randn($shape);
        check(&module, &x);
        let text = module.plan(&x).unwrap().to_string();
        assert!(!text.contains("  op ") && text.contains($text), "{text}");
    }};
}

#[test]
fn masks_may_be_known() {
    let added = Tensor::randn([5, 7]);
    let bools = Tensor::rand([1, 4, 5, 7]).gt(0.3);
    let of_heads = Tensor::randn([4, 1, 7]);
    for mask in [added, bools, of_heads] {
        planned!([2, 4, 12, 6], "attention of 4 heads, 5 x 7, masked", |x| {
            let (q, k) = (x.narrow(2, 0, 5), x.narrow(2, 5, 7));
            q.scaled_dot_product_attention(&k, &k, Some(&fx::Proxy::constant(&mask)))
        });
    }
}

#[test]
fn attention_of_more_dimensions() {
    let mask = Tensor::randn([1, 3, 1, 5, 5]);
    planned!([1, 3, 2, 5, 6], "attention of 2 heads, 5 x 5, masked", |x| {
        x.scaled_dot_product_attention(x.exp(), x.sin(), Some(&fx::Proxy::constant(&mask)))
    });
    planned!([2, 3, 2, 5, 6], "attention of 2 heads, 5 x 5", |x| {
        x.scaled_dot_product_attention(x.exp(), x.sin(), None)
    });
    // Windows of a product for queries, keys and values.
    planned!([2, 3, 5, 3, 4, 6], "attention of 4 heads, 5 x 5", |x| {
        let [q, k, v] = [0, 1, 2].map(|i| x.select(3, i).transpose(2, 3));
        q.scaled_dot_product_attention(k, v, None)
    });
}

/// Queries, keys and values of four heads, cut from one input `[batch, rows, 3, heads, width]`.
macro_rules! heads {
    ($x:ident) => {
        [0, 1, 2].map(|i| $x.select(2, i).transpose(1, 2))
    };
}

/// Learned queries, keys or values, and a mask that is not known.
/// Heads of which the numbers of a row lie apart, and a single head.
#[test]
fn attention_of_columns() {
    planned!([2, 3, 6, 5], "attention of 3 heads, 5 x 5", |x| {
        let x = x.transpose(-2, -1);
        x.scaled_dot_product_attention(x.exp(), &x, None)
    });
    planned!([3, 6, 5], "attention of 3 heads, 5 x 5", |x| {
        let columns = x.transpose(-2, -1);
        columns.exp().scaled_dot_product_attention(&columns, &columns, None)
    });
    planned!([7, 6], "attention of 1 head, 7 x 7", |x| x.scaled_dot_product_attention(x.exp(), &x, None));
}

#[test]
fn attention_of_known_operands() {
    let known = Tensor::randn([2, 4, 5, 16]);
    let known = || fx::Proxy::constant(&known);
    let modules = [
        fx::trace_fn!(|x| known().scaled_dot_product_attention(&x, x.sin(), None)),
        fx::trace_fn!(|x| x.scaled_dot_product_attention(known(), known(), None)),
        fx::trace_fn!(|x| {
            let mask = x.narrow(-1, 0, 7).narrow(-2, 0, 1);
            known().scaled_dot_product_attention(x.exp(), &x, Some(&mask))
        }),
    ];
    for module in modules {
        let text = super::only_kernels(&module.unwrap(), &[2, 4, 7, 16]);
        assert!(text.contains("attention of 4 heads"), "{text}");
    }
}

#[test]
fn attention_is_found_where_it_is_written_out() {
    planned!([2, 5, 3, 4, 6], "attention of 4 heads, 5 x 5  ", |x| {
        let [q, k, v] = heads!(x);
        (q.matmul(k.transpose(-2, -1)) / 6f64.sqrt()).softmax(-1).matmul(v)
    });
    // What the weights are for is cut out when there are weights.
    planned!([2, 5, 3, 4, 6], "attention of 4 heads, 5 x 5  ", |x| {
        let [q, k, _] = heads!(x);
        (q.matmul(k.transpose(-2, -1)) * 0.25).softmax(-1).matmul(x.select(2, 2).transpose(1, 2))
    });
    // The heads as one dimension, and the number before the product.
    planned!([8, 5, 6], "attention of 8 heads, 5 x 5  ", |x| (&x * 0.5).bmm(x.transpose(1, 2)).softmax(2).bmm(x));
    // A bias for each head, as known as the mask of each window.
    let (bias, windows) = (Tensor::randn([4, 5, 5]), Tensor::randn([3, 5, 5]));
    planned!([3, 5, 3, 4, 6], "attention of 4 heads, 5 x 5, masked", |x| {
        let [q, k, v] = heads!(x);
        let scores = q.matmul(k.transpose(-2, -1)) * 0.25 + fx::Proxy::constant(&bias).unsqueeze(0);
        let windows = fx::Proxy::constant(&windows).unsqueeze(1).unsqueeze(0);
        (scores.view([1, 3, 4, 5, 5]) + windows).view([3, 4, 5, 5]).softmax(-1).matmul(v)
    });
    // The windows of several images.
    planned!([6, 5, 3, 4, 6], "attention of 4 heads, 5 x 5, masked", |x| {
        let [q, k, v] = heads!(x);
        let scores = q.matmul(k.transpose(-2, -1)) * 0.25 + fx::Proxy::constant(&bias).unsqueeze(0);
        let windows = fx::Proxy::constant(&windows).unsqueeze(1).unsqueeze(0);
        (scores.view([2, 3, 4, 5, 5]) + windows).view([6, 4, 5, 5]).softmax(-1).matmul(v)
    });
    planned!([6, 5, 3, 4, 6], "attention of 4 heads, 5 x 5, masked", |x| {
        let [q, k, v] = heads!(x);
        let hidden = fx::Proxy::constant(&windows).gt(0.9).unsqueeze(1).unsqueeze(0);
        let scores = q.matmul(k.transpose(-2, -1)).view([2, 3, 4, 5, 5]).masked_fill(hidden, f64::NEG_INFINITY);
        scores.view([6, 4, 5, 5]).softmax(-1).matmul(v)
    });
    planned!([6, 5, 3, 4, 6], "attention of 4 heads, 5 x 5, masked", |x| {
        let [q, k, v] = heads!(x);
        let windows = x.narrow(0, 0, 3).select(3, 0).narrow(3, 0, 5).select(2, 0).exp().view([1, 3, 1, 5, 5]);
        let scores = q.matmul(k.transpose(-2, -1)).view([2, 3, 4, 5, 5]) + windows;
        scores.view([6, 4, 5, 5]).softmax(-1).matmul(v)
    });
    // A mask that is not known, for keys.
    planned!([2, 5, 3, 4, 6], "attention of 4 heads, 5 x 5, masked", |x| {
        let mask = x.select(2, 0).select(3, 0).select(2, 0).exp().view([2, 1, 1, 5]);
        let [q, k, v] = heads!(x);
        (q.matmul(k.transpose(-2, -1)) + mask).softmax(-1).matmul(v)
    });
}

/// Numbers that queries are multiplied with before are part of the step.
#[test]
fn queries_may_be_multiplied() {
    macro_rules! without_steps {
        ($shape:expr, |$x:ident| $body:expr) => {{
            let module = fx::trace_fn!(|$x| $body).unwrap();
            let x = Tensor::randn($shape);
            check(&module, &x);
            let text = module.plan(&x).unwrap().to_string();
            // The node of a number is there, as a view.
            let kernels: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
            assert!(text.contains("  attention of 4 heads") && !kernels.contains(&"mul"), "{text}");
            assert!(!["div", "softmax", "add"].iter().any(|step| kernels.contains(step)), "{text}");
        }};
    }
    without_steps!([2, 4, 5, 6], |x| (&x * 0.5).matmul(x.transpose(-2, -1)).softmax(-1).matmul(x));
    without_steps!([4, 5, 6], |x| (&x / 3.0).bmm(x.transpose(-2, -1)).softmax(-1).bmm(x));
    without_steps!([2, 5, 3, 4, 6], |x| {
        let [q, k, v] = heads!(x);
        let scores = (q * 0.25).matmul(k.transpose(-2, -1)) * 2.0;
        (scores + x.select(2, 0).select(3, 0).select(2, 0).exp().view([2, 1, 1, 5])).softmax(-1).matmul(v)
    });
    // Keys too, before they are turned and after, and in letters.
    without_steps!([2, 5, 3, 4, 6], |x| {
        let [q, k, v] = heads!(x);
        (q * 0.25).matmul((k * 0.5).transpose(-2, -1)).softmax(-1).matmul(v)
    });
    without_steps!([2, 5, 3, 4, 6], |x| {
        let [q, k, v] = heads!(x);
        q.matmul(k.transpose(-2, -1) / 3.0).softmax(-1).matmul(v)
    });
    without_steps!([2, 5, 3, 4, 6], |x| {
        let [q, k, v] = heads!(x);
        let scores = fx::Proxy::einsum([&q, &(k * 0.25)], "bhqd,bhkd->bhqk").softmax(-1);
        fx::Proxy::einsum([&scores, &v], "bhqk,bhkd->bhqd")
    });
    // What is read elsewhere too is computed.
    planned!([4, 5, 6], "  mul ", |x| {
        let q = &x * 0.5;
        q.bmm(x.transpose(-2, -1)).softmax(-1).bmm(x) + q
    });
}

/// Positions along both axes of an image, of which every query has its own: no number is written for each score.
#[test]
fn masks_of_lines_and_places_are_not_written() {
    /// What is added for each line, and for each place in one: from `[batch * heads, h * w, width]`.
    macro_rules! axes {
        ($x:ident) => {{
            let along = |first: i64, count: i64| $x.narrow(2, first, count).exp();
            (along(0, 3).view([6, 12, 3, 1]), along(1, 4).view([6, 12, 1, 4]))
        }};
    }
    planned!([6, 12, 5], "attention of 6 heads, 12 x 12, masked by lines and places", |x| {
        let (lines, places) = axes!(x);
        let mask = (lines + places).view([6, 12, 12]);
        x.scaled_dot_product_attention(&x, &x, Some(&mask))
    });
    planned!([6, 12, 5], "attention of 3 heads, 12 x 12, masked by lines and places", |x| {
        let (lines, places) = axes!(x);
        let mask = (places + lines).view([2, 3, 12, 12]);
        let x = x.view([2, 3, 12, 5]);
        x.scaled_dot_product_attention(&x, &x, Some(&mask))
    });
    planned!([6, 12, 5], "attention of 6 heads, 12 x 12, masked by lines and places", |x| {
        let (lines, places) = axes!(x);
        let mask = lines + places;
        let scores = x.bmm(x.transpose(1, 2)).view([6, 12, 3, 4]) + mask;
        scores.view([6, 12, 12]).softmax(-1).bmm(&x)
    });
    // What queries are multiplied with later does not stand in between.
    planned!([6, 12, 5], "attention of 6 heads, 12 x 12, masked by lines and places", |x| {
        let (lines, places) = axes!(x);
        let mask = (lines + places).view([6, 12, 12]);
        ((&x * 0.5).bmm(x.transpose(1, 2)) + mask).softmax(-1).bmm(&x)
    });
    // What is read elsewhere too is written, and what is the same for all queries, or more than a sum.
    planned!([6, 12, 5], "attention of 6 heads, 12 x 12, masked ", |x| {
        let (lines, places) = axes!(x);
        let mask = (lines + places).view([6, 12, 12]);
        x.scaled_dot_product_attention(&x, &x, Some(&mask)).sum() + mask.sum()
    });
    planned!([6, 12, 5], "attention of 6 heads, 12 x 12, masked ", |x| {
        let (lines, places) = axes!(x);
        let mask = (lines.narrow(1, 0, 1) + places.narrow(1, 0, 1)).view([6, 1, 12]);
        x.scaled_dot_product_attention(&x, &x, Some(&mask))
    });
    planned!([6, 12, 5], "attention of 6 heads, 12 x 12, masked ", |x| {
        let (lines, places) = axes!(x);
        let mask = ((lines + places) * 2.0).view([6, 12, 12]);
        x.scaled_dot_product_attention(&x, &x, Some(&mask))
    });
    planned!([6, 12, 5], "attention of 6 heads, 12 x 12, masked ", |x| {
        let (lines, _) = axes!(x);
        let mask = (lines + x.narrow(2, 1, 4).view([6, 1, 12, 4]).sum_dim(2).unsqueeze(2)).view([6, 12, 12]);
        x.scaled_dot_product_attention(&x, &x, Some(&mask))
    });
}

#[test]
fn scores_may_be_replaced_where_a_mask_holds() {
    let causal = Tensor::ones([5, 5]).tril().lt(0.5);
    // Each leaves a key to every query.
    let mask = |len: usize, every: usize| (0..len).map(|i| i % every == 1).collect::<Vec<_>>();
    let queries = Tensor::from_vec([2, 1, 5, 5], mask(50, 3));
    let keys = Tensor::from_vec([2, 1, 1, 5], mask(10, 2));
    for mask in [causal, queries, keys] {
        planned!([2, 5, 3, 4, 6], "attention of 4 heads, 5 x 5, masked", |x| {
            let [q, k, v] = heads!(x);
            let scores = q.matmul(k.transpose(-2, -1)) * 0.3;
            scores.masked_fill(fx::Proxy::constant(&mask), f64::NEG_INFINITY).softmax(-1).matmul(v)
        });
    }
    let kept = Tensor::ones([5, 5]).tril().gt(0.0);
    planned!([2, 5, 3, 4, 6], "attention of 4 heads, 5 x 5, masked", |x| {
        let [q, k, v] = heads!(x);
        let scores = q.matmul(k.transpose(-2, -1));
        scores.where_(fx::Proxy::constant(&kept), -1e9).softmax(-1).matmul(v)
    });
    // With a NaN that is hidden: row 1 of the keys.
    let mask = Tensor::from_vec([5], vec![false, true, false, false, false]);
    let module = fx::trace_fn!(|x| {
        let [q, k, v] = heads!(x);
        q.matmul(k.transpose(-2, -1)).masked_fill(fx::Proxy::constant(&mask), f64::NEG_INFINITY).softmax(-1).matmul(v)
    });
    let mut numbers = Tensor::randn([1, 5, 3, 4, 6]).to_vec::<f32>();
    numbers[(3 + 1) * 24] = f32::NAN;
    let x = Tensor::from_vec([1, 5, 3, 4, 6], numbers);
    let module = module.unwrap();
    assert!(module.plan(&x).unwrap().to_string().contains("attention of 4 heads"));
    check(&module, &x);
    // Rows that have no key left are all as far from each other as the numbers are.
    let none = Tensor::ones([5, 5]).gt(0.0);
    planned!([2, 5, 3, 4, 6], "softmax", |x| {
        let [q, k, v] = heads!(x);
        q.matmul(k.transpose(-2, -1)).masked_fill(fx::Proxy::constant(&none), -1e9).softmax(-1).matmul(v)
    });
}

/// A softmax of minus infinity alone is NaN, which attention as one op does not give.
#[test]
fn written_out_rows_without_keys_are_nan() {
    let mask = Tensor::from_vec(
        [5, 5],
        (0..25).map(|i| if i / 5 == 2 || i % 3 == 0 { f32::NEG_INFINITY } else { 0.0 }).collect::<Vec<_>>(),
    );
    let module = fx::trace_fn!(|x| {
        let [q, k, v] = heads!(x);
        (q.matmul(k.transpose(-2, -1)) + fx::Proxy::constant(&mask)).softmax(-1).matmul(v)
    });
    let (module, x) = (module.unwrap(), Tensor::randn([2, 5, 3, 4, 6]));
    assert!(module.plan(&x).unwrap().to_string().contains("attention of 4 heads, 5 x 5, masked"));
    let nan = |y: &Tensor| y.to_vec::<f32>().into_iter().map(f32::is_nan).collect::<Vec<_>>();
    let interpreted = fx::Interpreter::new(&module).run(vec![fx::Arg::Value(x.clone())]).unwrap();
    let (planned, interpreted) = (module.forward(&x).unwrap(), interpreted.as_value().unwrap().clone());
    assert_eq!(nan(&planned), nan(&interpreted));
    assert_eq!(nan(&planned).iter().filter(|is_nan| **is_nan).count(), 2 * 4 * 6);
}

/// What is like attention but for a part.
#[test]
fn other_softmaxes_are_left_alone() {
    macro_rules! left_alone {
        (|$q:ident, $k:ident, $v:ident| $body:expr) => {
            let module = fx::trace_fn!(|x| {
                let [$q, $k, $v] = heads!(x);
                $body
            });
            let (module, x) = (module.unwrap(), Tensor::randn([2, 5, 3, 4, 6]));
            check(&module, &x);
            let text = module.plan(&x).unwrap().to_string();
            assert!(text.contains("softmax") && !text.contains("attention"), "{text}");
        };
    }
    left_alone!(|q, k, v| q.matmul(k.transpose(-2, -1)).softmax(-2).matmul(v));
    left_alone!(|q, k, v| ((q.matmul(k.transpose(-2, -1)) + 1.0) * 2.0).softmax(-1).matmul(v));
    left_alone!(|q, k, v| q.matmul(k.transpose(-2, -1)).tanh().softmax(-1).matmul(v));
    left_alone!(|q, k, v| {
        let weights = q.matmul(k.transpose(-2, -1)).softmax(-1);
        weights.matmul(v) + weights.sum_dim(-1).unsqueeze(-1)
    });
    // Rows that are not the scores' own, and some of the scores only.
    left_alone!(|q, k, v| {
        let scores = q.matmul(k.transpose(-2, -1));
        scores.view([2, 4, 25]).softmax(-1).view([2, 4, 5, 5]).matmul(v)
    });
    left_alone!(|q, k, v| {
        let (q, k, v) =
            (q.select(0, 0).narrow(0, 0, 1), k.select(0, 0).narrow(0, 0, 1), v.select(0, 0).narrow(0, 0, 1));
        q.matmul(k.transpose(-2, -1)).narrow(1, 0, 3).softmax(-1).matmul(v)
    });
    left_alone!(|q, k, v| v.transpose(-2, -1).matmul(q.matmul(k.transpose(-2, -1)).softmax(-1)));
}

#[test]
fn stacks_of_products() {
    // Heads of windows, at two distances.
    planned!([3, 5, 2, 4, 6], "12 products 5 x 6 x 5", |x| {
        let heads = x.select(2, 0).transpose(1, 2);
        heads.matmul(x.select(2, 1).transpose(1, 2).transpose(-1, -2))
    });
    // One stack for several, and one matrix for a stack.
    planned!([3, 4, 5, 6], "12 products 5 x 6 x 5", |x| x.matmul(x.select(0, 1).transpose(-1, -2)));
    planned!([3, 4, 5, 6], "12 products 5 x 6 x 5", |x| {
        x.narrow(1, 0, 1).matmul(x.narrow(0, 2, 1).transpose(-1, -2))
    });
}

/// A captured model learns what a mask holds, and whether it is one for each head, when it runs.
#[test]
fn masks_of_any_form() {
    #[traceable]
    struct Masked {
        attention: fx::nn::MultiheadAttention,
    }
    #[traceable]
    impl Masked {
        fn forward(&self, x: &Tensor, padding: &Tensor, mask: &Tensor) -> Tensor {
            self.attention.forward(x, x, x, Some(padding), Some(mask))
        }
    }
    let model = Masked { attention: fx::nn::MultiheadAttention::new(8, 2) };
    model.eval();
    let module = fx::trace(&model).unwrap();
    let x = Tensor::randn([3, 5, 8]);
    for padding in [Tensor::rand([5, 3]).gt(0.8), Tensor::randn([5, 3])] {
        for mask in [[3, 3].as_slice(), &[10, 3, 3]].map(Tensor::randn) {
            for mask in [mask.gt(1.0), mask] {
                let (eager, planned) =
                    (model.forward(&x, &padding, &mask), module.forward((&x, &padding, &mask)).unwrap());
                let difference = (eager - planned).abs().max().item().to_f64();
                assert!(difference < 1e-5, "{difference} with {padding:?} and {mask:?}");
            }
        }
    }
}

/// What repeats before the heads is left to the op itself.
#[test]
fn attention_that_repeats() {
    for shapes in [[[3, 1, 2, 5, 6], [1, 3, 2, 5, 6]], [[1, 4, 1, 5, 6], [1, 4, 2, 5, 6]]] {
        let [q, k] = shapes.map(Tensor::randn);
        let module = fx::trace_fn!(|x| (&x * fx::Proxy::constant(&q)).scaled_dot_product_attention(
            &x * fx::Proxy::constant(&k),
            fx::Proxy::constant(&k) - x,
            None
        ));
        check(&module.unwrap(), &Tensor::randn([1]));
    }
    let q = Tensor::randn([2, 5, 6]);
    let module =
        fx::trace_fn!(|x| (&x.select(0, 0) * fx::Proxy::constant(&q)).scaled_dot_product_attention(&x, &x, None));
    check(&module.unwrap(), &Tensor::randn([1, 2, 5, 6]));
}

/// A matrix that is not known, for a stack of others: all rows at once.
#[test]
fn a_matrix_for_all() {
    planned!([3, 4, 5], "1 products 12 x 5 x 4", |x| x.matmul(x.select(0, 1).transpose(0, 1)));
}

/// A stack that is known, on either side, and for several others.
#[test]
fn known_stacks() {
    let (left, right) = (Tensor::randn([4, 7, 5]), Tensor::randn([3, 4, 6, 5]));
    planned!([3, 4, 5, 6], "12 products 7 x 5 x 6", |x| fx::Proxy::constant(&left).matmul(x));
    planned!([4, 5, 6], "12 products 5 x 6 x 5", |x| x.matmul(fx::Proxy::constant(&right)));
    planned!([4, 5, 6], "12 products 6 x 5 x 6", |x| fx::Proxy::constant(&right).matmul(x));
    planned!([5, 6], "1 products 28 x 5 x 6", |x| fx::Proxy::constant(&left).matmul(x));
    // Nothing to sum over gives zeros.
    let empty = Tensor::randn([4, 0, 3]);
    check(&fx::trace_fn!(|x| x.matmul(fx::Proxy::constant(&empty))).unwrap(), &Tensor::randn([4, 5, 0]));
    // Attention to what is known.
    planned!([3, 4, 5, 6], "softmax", |x| {
        let keys = fx::Proxy::constant(&right);
        x.transpose(-1, -2).matmul(keys.transpose(-1, -2)).softmax(-1).matmul(keys)
    });
}

#[test]
fn simple_powers() {
    planned!([4, 9], "square + add", |x| x.pow(2.0) + 1.0);
}
