use fx::passes::compose_activations;
use fx::prelude::*;
use fx::{GraphModule, nn};

use super::check_close;
use super::fill::floats;

/// A layer and an activation as it is written out, in place of which there is one call.
macro_rules! composed {
    ($name:literal, |$x:ident| $body:expr) => {{
        #[traceable]
        struct Model {
            layer: nn::Linear,
        }
        #[traceable]
        impl Model {
            fn forward(&self, x: &Tensor) -> Tensor {
                let $x = self.layer.forward(x);
                $body
            }
        }
        let before = fx::trace(&Model { layer: nn::Linear::new(5, 7) }).unwrap();
        let mut after = before.clone();
        fx::passes::decompose_modules(&mut after).unwrap();
        assert_eq!(compose_activations(&mut after).unwrap(), 1, "{}", after.graph());
        let calls = calls(&after);
        assert_eq!(calls, ["linear", $name], "{}", after.graph());
        assert_eq!(compose_activations(&mut after).unwrap(), 0);
        check_close(&before, &after, &[floats("x", &[9, 5])], 1e-5, 1e-6);
        let plan = before.plan(floats("x", &[9, 5])).unwrap().to_string();
        assert!(plan.contains(concat!(" + ", $name)), "{plan}");
    }};
}

fn calls(module: &GraphModule) -> Vec<&str> {
    module.graph().nodes().filter_map(|(_, node)| node.function()).map(|function| function.name()).collect()
}

#[test]
fn written_out_activations_are_one_call() {
    composed!("silu", |x| &x * x.sigmoid());
    composed!("silu", |x| x.sigmoid() * &x);
    composed!("hardswish", |x| &x * (3.0 + &x).relu6() / 6.0);
    composed!("hardswish", |x| &x * ((&x + 3.0).relu6() / 6.0));
    composed!("hardswish", |x| &x * x.hardsigmoid());
    composed!("mish", |x| &x * x.softplus().tanh());
    composed!("gelu", |x| 0.5 * &x * (1.0 + (&x / 2.0_f64.sqrt()).erf()));
    composed!("gelu", |x| &x * 0.5 * ((&x * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0));
    composed!("gelu", |x| 0.5 * (&x * (1.0 + (&x / 2.0_f64.sqrt()).erf())));
    composed!("gelu", |x| &x * (0.5 * (1.0 + (&x / 2.0_f64.sqrt()).erf())));
    composed!("gelu", |x| {
        0.5 * &x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (&x + 0.044715 * x.pow(3.0))).tanh())
    });
    composed!("gelu", |x| {
        &x * 0.5 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (&x + 0.044715 * (&x * &x * &x))).tanh())
    });
}

/// Of integers an activation is not defined, and what is also used elsewhere stays.
#[test]
fn what_is_none_stays() {
    let mut of_anything = fx::trace_fn!(|x| &x * x.sigmoid()).unwrap();
    assert_eq!(compose_activations(&mut of_anything).unwrap(), 0);
    let integers = Tensor::from([1_i64, -2, 3]);
    let eager = of_anything.forward(&integers).unwrap();
    assert!(eager.all_close(&(&integers * integers.sigmoid()), 1e-6, 1e-6));
    // A size is no float, whatever it is of.
    let mut of_sizes = fx::trace_fn!(|ids, x| {
        let y = &ids + x.tanh().size(0);
        &y * y.sigmoid()
    })
    .unwrap();
    assert_eq!(compose_activations(&mut of_sizes).unwrap(), 0, "{}", of_sizes.graph());
    of_sizes.forward((&integers, Tensor::zeros([2, 3]))).unwrap();
    let mut used = fx::trace_fn!(|x| {
        let x = x.tanh();
        let gate = x.sigmoid();
        &x * &gate + gate
    })
    .unwrap();
    assert_eq!(compose_activations(&mut used).unwrap(), 0);
    let mut other = fx::trace_fn!(|x, y| x.tanh() * y.sigmoid()).unwrap();
    assert_eq!(compose_activations(&mut other).unwrap(), 0);
}
