//! Activations that are written out become one call: `x * sigmoid(x)` is `silu(x)`.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, SQRT_2};

use super::floats::is_float;
use super::{Match, Pattern};
use crate::error::Result;
use crate::graph::{Graph, NodeArg};
use crate::graph_module::GraphModule;
use crate::ops::{self, Function};
use crate::prelude::*;
use crate::trace::Proxy;

/// A way to write an activation, found by a function in it.
struct Spelling {
    mark: Function,
    pattern: fn() -> Result<GraphModule>,
    call: fn() -> Result<GraphModule>,
}

/// A row for each: the function, the activation, and what it is written as.
macro_rules! spellings {
    ($($mark:ident, $call:expr => |$x:ident| $pattern:expr;)+) => {
        [$(Spelling {
            mark: ops::$mark,
            pattern: || crate::trace_fn!(|$x| $pattern),
            call: || crate::trace_fn!(|$x| $call(&$x)),
        }),+]
    };
}

/// As models have them: SiLU of EfficientNet, hard swish of MobileNetV3, Mish of YOLOv4, GELU of BERT and of GPT-2.
static SPELLINGS: [Spelling; 13] = spellings! {
    sigmoid, Proxy::silu => |x| &x * x.sigmoid();
    relu6, Proxy::hardswish => |x| &x * (&x + 3.0).relu6() / 6.0;
    relu6, Proxy::hardswish => |x| &x * ((&x + 3.0).relu6() / 6.0);
    hardsigmoid, Proxy::hardswish => |x| &x * x.hardsigmoid();
    softplus, Proxy::mish => |x| &x * x.softplus().tanh();
    erf, Proxy::gelu => |x| &x * 0.5 * ((&x / SQRT_2).erf() + 1.0);
    erf, Proxy::gelu => |x| &x * 0.5 * ((&x * FRAC_1_SQRT_2).erf() + 1.0);
    erf, Proxy::gelu => |x| &x * ((&x / SQRT_2).erf() + 1.0) * 0.5;
    erf, Proxy::gelu => |x| &x * ((&x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
    erf, Proxy::gelu => |x| &x * (((&x / SQRT_2).erf() + 1.0) * 0.5);
    erf, Proxy::gelu => |x| &x * (((&x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5);
    tanh, by_tanh => |x| &x * 0.5 * (((&x + x.pow(3.0) * 0.044715) * FRAC_2_PI.sqrt()).tanh() + 1.0);
    tanh, by_tanh => |x| &x * 0.5 * (((&x + &x * &x * &x * 0.044715) * FRAC_2_PI.sqrt()).tanh() + 1.0);
};

fn by_tanh(x: &Proxy) -> Proxy {
    x.gelu_with(ops::GeluOptions::new().approximate("tanh"))
}

/// Writes activations as one call, of values that are floats in any case: what sums of products, norms and such give. Gives how many there were.
///
/// # Errors
/// None that a graph in order can give.
pub fn compose_activations(module: &mut GraphModule) -> Result<usize> {
    let mut count = 0;
    for Spelling { mark, pattern, call } in &SPELLINGS {
        if module.graph().nodes().any(|(_, node)| node.function() == Some(*mark)) {
            let pattern = Pattern::new(pattern()?)?.any_spelling().commutative().filter(is_of_floats);
            count += pattern.replace(module, call()?)?.len();
        }
    }
    Ok(count)
}

fn is_of_floats(graph: &Graph, found: &Match) -> bool {
    found.nodes.get("x").and_then(NodeArg::as_value).is_some_and(|x| is_float(graph, *x))
}
