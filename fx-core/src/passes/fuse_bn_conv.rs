//! A batch norm in evaluation before a convolution: a scale and a shift of its inputs, which its weight can take up.
//!
//! Exact where the convolution pads with nothing: zeros around the input would have been shifted too.

use super::as_one;
use super::decompose_modules::decompose_modules_within;
use super::layer::{Affine, CONVS, Layer, pads_nothing};
use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, Node, NodeId};
use crate::graph_module::{GraphModule, State};
use crate::ops;

/// Fuses every batch norm in evaluation with the convolution that alone uses it, where that is exact. Gives how many
/// pairs there were.
///
/// # Errors
/// If the `forward` of a module of such a pair cannot be captured, or parameters have shapes that do not fit each other.
pub fn fuse_bn_conv(module: &mut GraphModule) -> Result<usize> {
    let fuse = |graph: &mut Graph, state: &mut State| {
        let mut count = 0;
        loop {
            let before = count;
            decompose_modules_within(graph, state, is_in_pair)?;
            let shared = state.shared_paths(graph);
            for bn in graph.find_calls(ops::batch_norm) {
                let Some((layer, affine)) = pair(graph, state, bn) else { continue };
                let input = graph[bn].args()[0].clone();
                graph.replace_all_uses_with_arg(bn, &input);
                graph.erase_with_reads(bn)?;
                layer.after(&affine).store(graph, state, &shared);
                count += 1;
            }
            // A norm before one that has gone stands before the convolution now.
            if count == before {
                state.retain_used(graph);
                return Ok(count);
            }
        }
    };
    as_one(module, |module| module.edit_with_state(fuse))
}

/// Whether a call of a module is one of a pair, as far as the names of types tell.
fn is_in_pair(graph: &Graph, state: &State, id: NodeId) -> bool {
    let name_is = |node: &Node, start: &str| {
        let module = state.callee(node).filter(|module| !module.is_training());
        module.is_some_and(|module| module.type_name().starts_with(start) && !module.type_name().contains("Transpose"))
    };
    let only_user = |id: NodeId| graph[id].users().next().filter(|_| graph[id].users().len() == 1);
    let input = graph[id].args().first().and_then(Arg::as_value).copied();
    let after_norm = |id: NodeId| name_is(&graph[id], "BatchNorm") && only_user(id).is_some();
    name_is(&graph[id], "Conv") && input.is_some_and(after_norm)
        || after_norm(id) && only_user(id).is_some_and(|user| name_is(&graph[user], "Conv"))
}

/// The convolution that alone uses a batch norm, and what the norm does.
fn pair(graph: &Graph, state: &State, bn: NodeId) -> Option<(Layer, Affine)> {
    let user = graph[bn].users().next().filter(|_| graph[bn].users().len() == 1)?;
    let layer = Layer::of(graph, state, user, &CONVS)?;
    let is_input = graph[user].args()[0].as_value() == Some(&bn);
    Some((layer, Affine::of_norm(graph, state, &graph[bn]).filter(|_| is_input && pads_nothing(&graph[user]))?))
}
