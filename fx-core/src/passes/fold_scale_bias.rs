//! What scales or shifts the result of a convolution or linear layer goes into its weight and bias.
//!
//! `conv(x) * s`, `s * conv(x)`, `conv(x) / s`, `conv(x) + b`, `conv(x) - b`, `b - conv(x)`, where the other operand is a
//! number, or state with one element for each channel. Chains of them are folded from the layer on.

use super::as_one;
use super::layer::{Affine, Layer, convolutions};
use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, NodeArg, NodeId};
use crate::graph_module::{GraphModule, State};
use crate::ops;
use crate::prelude::*;

/// Folds scales and shifts into the layers before them, which must have no other user. Gives how many there were.
///
/// # Errors
/// If parameters have shapes that do not fit each other.
pub fn fold_scale_bias(module: &mut GraphModule) -> Result<usize> {
    let mut functions = convolutions();
    functions.push(ops::linear);
    let fold = |graph: &mut Graph, state: &mut State| {
        let shared = state.shared_paths(graph);
        let mut count = 0;
        for id in graph.node_ids() {
            let Some((layer, operand)) = layer_operand(graph, id) else { continue };
            let Some(layer) = Layer::of(graph, state, layer, &functions) else { continue };
            let Some(other) = constant(graph, state, &graph[id].args()[1 - operand], &layer) else { continue };
            let number = Tensor::scalar::<f64>;
            let (scale, shift) = match (graph[id].target().name(), operand) {
                ("mul", _) => (other, number(0.0)),
                ("div", 0) => (number(1.0) / other, number(0.0)),
                ("add", _) => (number(1.0), other),
                ("sub", 0) => (number(1.0), -other),
                ("sub", _) => (number(-1.0), other),
                _ => continue,
            };
            graph.replace_all_uses_with(id, layer.node);
            graph.erase_with_reads(id)?;
            layer.then(Affine::of(scale, shift)).store(graph, state, &shared);
            count += 1;
        }
        state.retain_used(graph);
        Ok(count)
    };
    as_one(module, |module| module.edit_with_state(fold))
}

/// The node that a call of two operands alone uses, and which operand it is.
fn layer_operand(graph: &Graph, id: NodeId) -> Option<(NodeId, usize)> {
    let node = &graph[id];
    if node.args().len() != 2 || !node.kwargs().is_empty() || node.function().is_none() {
        return None;
    }
    let layer = |index: usize| {
        let id = *node.args()[index].as_value()?;
        (graph[id].function().is_some() && graph[id].users().len() == 1 && node.args()[0] != node.args()[1])
            .then_some((id, index))
    };
    layer(0).or_else(|| layer(1))
}

/// An operand as a number, or as one number for each channel of the layer, in f64; None if it is neither.
fn constant(graph: &Graph, state: &State, arg: &NodeArg, layer: &Layer) -> Option<Tensor> {
    if let Arg::Int(_) | Arg::Float(_) = arg {
        return arg.as_float().filter(|_| layer.dtype().is_float()).map(Tensor::scalar);
    }
    let read = state.parameter_of(graph, arg).filter(|read| read.dtype() == layer.dtype())?;
    // The channels of a convolution stand before its spatial dimensions, those of a linear layer last.
    let after = if layer.function == ops::linear { 0 } else { layer.rank() - 2 };
    let mut channels = vec![1; after + 1];
    channels[0] = layer.outputs();
    let shape = read.shape();
    // A weight that is nothing of the kind is not read.
    let fits = shape.is_empty() || shape == channels;
    fits.then(|| read.tensor().to_dtype(DType::F64).reshape([-1]))
}
