use fx::ops::SqueezeOptions;
use fx::passes::sum_attention_biases;
use fx::prelude::*;
use fx::{GraphModule, nn};

use super::check_close;
use super::fill::floats;

/// Attention over the pixels of an image with positions relative to rows and columns, as Segment Anything's encoder has it.
#[traceable]
struct Relative {
    qkv: nn::Linear,
    rows: Parameter,
    columns: Parameter,
    reversed: bool,
}

#[traceable]
impl Relative {
    fn forward(&self, x: &Tensor) -> Tensor {
        let [n, h, w, c] = x.sizes();
        let [q, k, v] = self.qkv.forward(x).view((&n, &h * &w, 3, 2, -1)).permute([2, 0, 3, 1, 4]).chunk(0);
        let [q, k, v] = [q, k, v].map(|x| x.squeeze_with(SqueezeOptions::new().dim(0)));
        let scores = (&q * 0.5).matmul(k.transpose(-2, -1)).view((&n, 2, &h, &w, &h, &w));
        let pixels = q.view((&n, 2, &h, &w, -1));
        let rows = Tensor::einsum([&pixels, &self.rows.value()], "bnhwc,hkc->bnhwk").unsqueeze(-1);
        let columns = Tensor::einsum([&pixels, &self.columns.value()], "bnhwc,wkc->bnhwk").unsqueeze(-2);
        let scores = if self.reversed { columns + (rows + scores) } else { scores + rows + columns };
        let weights = scores.view((&n, 2, &h * &w, &h * &w)).softmax(-1);
        weights.matmul(v).transpose(1, 2).reshape((n, h, w, c))
    }
}

fn relative(reversed: bool) -> GraphModule {
    let state = [4, 5].map(|size| Parameter::new(floats("table", &[size, size, 3])));
    let [rows, columns] = state;
    fx::trace(&Relative { qkv: nn::Linear::new(6, 18), rows, columns, reversed }).unwrap()
}

#[test]
fn biases_are_added_up_before_scores() {
    for reversed in [false, true] {
        let before = relative(reversed);
        let mut after = before.clone();
        fx::passes::decompose_modules(&mut after).unwrap();
        assert_eq!(sum_attention_biases(&mut after).unwrap(), 1, "{}", after.graph());
        after.graph().lint_with(after.state()).unwrap();
        let calls: Vec<_> = after.graph().nodes().filter_map(|(_, node)| node.function()).map(|of| of.name()).collect();
        let product = calls.iter().position(|name| *name == "matmul").unwrap();
        assert_eq!(calls[product - 1..product + 3], ["add", "matmul", "view", "add"], "{calls:?}");
        assert_eq!(sum_attention_biases(&mut after).unwrap(), 0);
        let x = floats("x", &[2, 4, 5, 6]);
        check_close(&before, &after, std::slice::from_ref(&x), 1e-5, 1e-6);
        let plan = before.plan(&x).unwrap().to_string();
        assert!(plan.contains("attention of 2 heads, 20 x 20, masked") && !plan.contains("softmax"), "{plan}");
    }
}

/// Sums of booleans would be another number, and what is also used elsewhere stays.
#[test]
fn other_sums_stay() {
    let mut of_bools = fx::trace_fn!(|x, a, b| {
        let scores = x.matmul(x.transpose(-2, -1)) + a.gt(0.0) + b.gt(0.0);
        scores.softmax(-1).matmul(x)
    })
    .unwrap();
    assert_eq!(sum_attention_biases(&mut of_bools).unwrap(), 1, "the product is moved");
    let text = of_bools.graph().to_string();
    assert_eq!(text.matches("target=add]").count(), 2, "{text}");
    let mut used = fx::trace_fn!(|x, a| {
        let scores = x.matmul(x.transpose(-2, -1));
        (&scores + a.exp()).softmax(-1).matmul(scores)
    })
    .unwrap();
    assert_eq!(sum_attention_biases(&mut used).unwrap(), 0);
}
