//! Activations that are written out become one call: `x * sigmoid(x)` is `silu(x)`.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use self::Term::{Number, Of, X};
use super::floats::is_float;
use super::{Match, Pattern};
use crate::arg::{Arg, Key, Kwargs};
use crate::error::Result;
use crate::graph::{Graph, NodeArg, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::{self, Function};

/// What a spelling is made of: tables of them take less code than captured functions.
#[derive(Clone, Copy)]
enum Term {
    /// What the activation is of.
    X,
    Number(f64),
    Of(Function, &'static [Term]),
}

const THREE_MORE: Term = Of(ops::relu6, &[Of(ops::add, &[X, Number(3.0)])]);
const HALF: Term = Of(ops::mul, &[X, Number(0.5)]);
const DIVIDED: Term = Of(ops::add, &[Of(ops::erf, &[Of(ops::div, &[X, Number(SQRT_2)])]), Number(1.0)]);
const MULTIPLIED: Term = Of(ops::add, &[Of(ops::erf, &[Of(ops::mul, &[X, Number(FRAC_1_SQRT_2)])]), Number(1.0)]);
const CUBE: Term = Of(ops::pow, &[X, Number(3.0)]);
const PRODUCT: Term = Of(ops::mul, &[Of(ops::mul, &[X, X]), X]);

/// 1 and what the hyperbolic tangent is of a cube and more.
macro_rules! by_tanh {
    ($cube:expr) => {
        Of(
            ops::add,
            &[
                Of(
                    ops::tanh,
                    &[Of(ops::mul, &[Of(ops::add, &[X, Of(ops::mul, &[$cube, Number(0.044715)])]), Number(ROOT)])],
                ),
                Number(1.0),
            ],
        )
    };
}

/// The root of 2 / pi.
const ROOT: f64 = 0.797_884_560_802_865_4;

/// As models have them: SiLU of EfficientNet, hard swish of MobileNetV3, Mish of YOLOv4, GELU of BERT and of GPT-2. With how it is approximated
/// if that is to be said, and a function by which it is found.
static SPELLINGS: [(Function, Option<&str>, Function, Term); 13] = [
    (ops::silu, None, ops::sigmoid, Of(ops::mul, &[X, Of(ops::sigmoid, &[X])])),
    (ops::hardswish, None, ops::relu6, Of(ops::div, &[Of(ops::mul, &[X, THREE_MORE]), Number(6.0)])),
    (ops::hardswish, None, ops::relu6, Of(ops::mul, &[X, Of(ops::div, &[THREE_MORE, Number(6.0)])])),
    (ops::hardswish, None, ops::hardsigmoid, Of(ops::mul, &[X, Of(ops::hardsigmoid, &[X])])),
    (ops::mish, None, ops::softplus, Of(ops::mul, &[X, Of(ops::tanh, &[Of(ops::softplus, &[X])])])),
    (ops::gelu, None, ops::erf, Of(ops::mul, &[HALF, DIVIDED])),
    (ops::gelu, None, ops::erf, Of(ops::mul, &[HALF, MULTIPLIED])),
    (ops::gelu, None, ops::erf, Of(ops::mul, &[Of(ops::mul, &[X, DIVIDED]), Number(0.5)])),
    (ops::gelu, None, ops::erf, Of(ops::mul, &[Of(ops::mul, &[X, MULTIPLIED]), Number(0.5)])),
    (ops::gelu, None, ops::erf, Of(ops::mul, &[X, Of(ops::mul, &[DIVIDED, Number(0.5)])])),
    (ops::gelu, None, ops::erf, Of(ops::mul, &[X, Of(ops::mul, &[MULTIPLIED, Number(0.5)])])),
    (ops::gelu, Some("tanh"), ops::tanh, Of(ops::mul, &[HALF, by_tanh!(CUBE)])),
    (ops::gelu, Some("tanh"), ops::tanh, Of(ops::mul, &[HALF, by_tanh!(PRODUCT)])),
];

/// Writes activations as one call, of values that are floats in any case: what sums of products, norms and such give. Gives how many there were.
///
/// # Errors
/// None that a graph in order can give.
pub fn compose_activations(module: &mut GraphModule) -> Result<usize> {
    let mut count = 0;
    for (activation, approximate, mark, term) in &SPELLINGS {
        if module.graph().nodes().any(|(_, node)| node.function() == Some(*mark)) {
            let pattern = graph_of(|graph, x| term.build(graph, x));
            let call = graph_of(|graph, x| {
                let kwargs: Kwargs<NodeId> =
                    approximate.iter().map(|by| (Key::from("approximate"), Arg::Str((*by).into()))).collect();
                graph.call(Opcode::CallFunction, *activation, [x], kwargs).into()
            });
            let pattern = Pattern::new(pattern)?.any_spelling().commutative().filter(is_of_floats);
            count += pattern.replace(module, call)?.len();
        }
    }
    Ok(count)
}

/// A graph of one input, with the result that `build` gives.
fn graph_of(build: impl FnOnce(&mut Graph, NodeId) -> NodeArg) -> Graph {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let result = build(&mut graph, x);
    graph.output(result);
    graph
}

impl Term {
    fn build(&self, graph: &mut Graph, x: NodeId) -> NodeArg {
        match *self {
            X => x.into(),
            Number(number) => Arg::Float(number),
            Of(function, terms) => {
                let args: Vec<_> = terms.iter().map(|term| term.build(graph, x)).collect();
                graph.call(Opcode::CallFunction, function, args, Kwargs::new()).into()
            }
        }
    }
}

fn is_of_floats(graph: &Graph, found: &Match) -> bool {
    found.nodes.get("x").and_then(NodeArg::as_value).is_some_and(|x| is_float(graph, *x))
}
