//! A batch norm in evaluation is a scale and a shift of each channel, which the layer before it can do itself.
//!
//! `bn(conv(x))` with weight `w` and bias `b` becomes one convolution with weight `w * s` and bias `(b - mean) * s + beta`,
//! where `s = gamma / sqrt(var + eps)`; torch.fx's `fuse`. Both may be modules or functions, and the convolution over one
//! to three dimensions, grouped, transposed. It must have no other user.

use super::as_one;
use super::decompose_modules::decompose_modules_within;
use super::layer::{Affine, Layer, convolutions};
use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, Node, NodeId};
use crate::graph_module::{GraphModule, State};
use crate::ops::{self, Function};

/// Fuses every convolution with the batch norm after it; modules of such a pair become functions first. Gives how many
/// pairs there were.
///
/// The new parameters have the paths of the convolution's own (`conv1.weight`, `conv1.bias`), or new ones where others
/// read those.
///
/// # Errors
/// If the `forward` of such a module cannot be captured, or parameters have shapes that do not fit each other.
pub fn fuse_conv_bn(module: &mut GraphModule) -> Result<usize> {
    fuse_pairs(module, &convolutions())
}

/// Fuses these layers with the batch norms after them.
pub(super) fn fuse_pairs(module: &mut GraphModule, layers: &[Function]) -> Result<usize> {
    let fuse = |graph: &mut Graph, state: &mut State| {
        decompose_modules_within(graph, state, |graph, state, id| is_in_pair(graph, state, id, layers))?;
        let shared = state.shared_paths(graph);
        let mut count = 0;
        for bn in graph.find_calls(ops::batch_norm) {
            let Some((layer, affine)) = pair(graph, state, bn, layers) else { continue };
            graph.replace_all_uses_with(bn, layer.node);
            graph.erase_with_reads(bn)?;
            layer.then(affine).store(graph, state, &shared);
            count += 1;
        }
        state.retain_used(graph);
        Ok(count)
    };
    as_one(module, |module| module.edit_with_state(fuse))
}

/// Whether a call of a module is one of a pair, as far as the names of types tell.
fn is_in_pair(graph: &Graph, state: &State, id: NodeId, layers: &[Function]) -> bool {
    // `Conv2d` is `conv2d`, and `BatchNorm2d` starts as `batch_norm` does.
    let letters = |name: &'static str| name.bytes().filter(|c| *c != b'_').map(|c| c.to_ascii_lowercase());
    let called = |id: NodeId| {
        let node = &graph[id];
        let function = node.function().map_or("", Function::name);
        letters(state.callee(node).map_or(function, |module| module.type_name()))
    };
    let is_layer = |id: NodeId| {
        let name = called(id);
        graph[id].users().len() == 1 && layers.iter().any(|layer| letters(layer.name()).eq(name.clone()))
    };
    let is_training = |node: &Node| state.callee(node).is_some_and(|module| module.is_training());
    let norm = b"batchnorm";
    let is_norm = |id: NodeId| called(id).take(norm.len()).eq(*norm) && !is_training(&graph[id]);
    let before = |id: NodeId| graph[id].args().first().and_then(Arg::as_value).copied();
    is_norm(id) && before(id).is_some_and(is_layer)
        || is_layer(id) && graph[id].users().all(|user| is_norm(user) && before(user) == Some(id))
}

/// The layer before a batch norm, and what the norm does; None if they are no such pair.
fn pair(graph: &Graph, state: &State, bn: NodeId, layers: &[Function]) -> Option<(Layer, Affine)> {
    let norm = &graph[bn];
    let layer = *norm.args().first()?.as_value()?;
    let rank = graph[layer].meta().shape().and_then(|shape| Some(shape.as_value()?.as_tensor()?.ndim()));
    let layer = Layer::of(graph, state, layer, layers).filter(|_| graph[layer].users().len() == 1)?;
    let exact = rank.map_or(layer.function != ops::linear, |rank| rank == layer.rank());
    Some((layer, Affine::of_norm(graph, state, norm).filter(|_| exact)?))
}
