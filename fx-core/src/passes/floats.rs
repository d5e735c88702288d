//! Values that are floats in any case, as far as a graph without shapes tells.

use crate::graph::{Graph, NodeId};
use crate::ops::{self, Function, is_view};

/// How many values are followed back.
const MOST: usize = 32;

/// Functions that give floats, and those that do if any operand is one.
const OF_FLOATS: [Function; 24] = [
    ops::conv1d,
    ops::conv2d,
    ops::conv3d,
    ops::conv_transpose1d,
    ops::conv_transpose2d,
    ops::conv_transpose3d,
    ops::linear,
    ops::batch_norm,
    ops::layer_norm,
    ops::group_norm,
    ops::instance_norm,
    ops::rms_norm,
    ops::sigmoid,
    ops::tanh,
    ops::softmax,
    ops::hardsigmoid,
    ops::mean,
    ops::adaptive_avg_pool2d,
    ops::scaled_dot_product_attention,
    ops::qconv1d_pointwise,
    ops::qconv2d_pointwise,
    ops::qconv3d_pointwise,
    ops::qlinear_pointwise,
    ops::dequantize_per_tensor,
];
const KEEPING: [Function; 10] =
    [ops::add, ops::sub, ops::mul, ops::div, ops::matmul, ops::bmm, ops::addmm, ops::einsum, ops::relu, ops::cat];

/// Whether a value is one: what a function gives that takes floats alone, or that gives them for one.
pub(super) fn is_float(graph: &Graph, value: NodeId) -> bool {
    let mut seen = vec![value];
    let mut next = 0;
    while let Some(node) = seen.get(next).filter(|_| next < MOST).map(|id| &graph[*id]) {
        next += 1;
        let Some(function) = node.function() else { continue };
        if OF_FLOATS.contains(&function) {
            return true;
        }
        // A view has the numbers of its first operand; a size has none.
        let is_view = is_view(function) && ![ops::size, ops::numel].contains(&function);
        let operands = if is_view { 1 } else { usize::from(KEEPING.contains(&function)) * node.args().len() };
        for arg in node.args().iter().take(operands) {
            arg.for_each(&mut |id| {
                if !seen.contains(id) {
                    seen.push(*id);
                }
            });
        }
    }
    false
}
