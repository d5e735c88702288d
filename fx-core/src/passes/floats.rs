//! Values that are floats in any case, as far as a graph without shapes tells.

use crate::graph::{Graph, NodeId};
use crate::ops::{self, Function};

/// How many values are followed back.
const MOST: usize = 32;

/// Functions that give floats, and those that do if they take one.
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
const KEEPING: [Function; 24] = [
    ops::add,
    ops::sub,
    ops::mul,
    ops::div,
    ops::matmul,
    ops::addmm,
    ops::relu,
    ops::cat,
    ops::view,
    ops::reshape,
    ops::transpose,
    ops::permute,
    ops::unsqueeze,
    ops::getitem,
    ops::einsum,
    ops::bmm,
    ops::squeeze,
    ops::chunk,
    ops::split,
    ops::narrow,
    ops::expand,
    ops::unbind,
    ops::select,
    ops::flatten,
];

/// Whether a value is one: what a function gives that takes floats alone, or that gives them for one.
pub(super) fn is_float(graph: &Graph, value: NodeId) -> bool {
    let mut seen = vec![value];
    let mut next = 0;
    while let Some(id) = seen.get(next).filter(|_| next < MOST) {
        let node = &graph[*id];
        if node.function().is_some_and(|function| OF_FLOATS.contains(&function)) {
            return true;
        }
        if node.function().is_some_and(|function| KEEPING.contains(&function)) {
            node.args().iter().for_each(|arg| {
                arg.for_each(&mut |id| {
                    if !seen.contains(id) {
                        seen.push(*id);
                    }
                });
            });
        }
        next += 1;
    }
    false
}
