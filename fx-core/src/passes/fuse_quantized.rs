//! A layer between quantized values becomes one call, for which plans have kernels of integers.
//!
//! `linear(dequantize_per_tensor(quantize_per_tensor(x, s, z), s, z), dequantize_per_channel(w, ws), b)` becomes
//! `qlinear_pointwise(x, w, ws, b)` with `s` and `z` as attributes, or without them where `choose_qparams` gives them.

use super::as_one;
use super::dead_code::eliminate_dead_code;
use super::fusion::replace_chain;
use super::quantize::output_axis;
use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::{GraphModule, State};
use crate::ops::{self, Function, is_bytes, is_scale};
use crate::tensor::DType;

/// What a layer is called, and what it is of quantized values.
const LAYERS: [(Function, Function); 6] = [
    (ops::conv1d, ops::qconv1d_pointwise),
    (ops::conv2d, ops::qconv2d_pointwise),
    (ops::conv3d, ops::qconv3d_pointwise),
    (ops::conv_transpose1d, ops::qconv_transpose1d),
    (ops::conv_transpose2d, ops::qconv_transpose2d),
    (ops::linear, ops::qlinear_pointwise),
];

/// Makes one call of each convolution, transposed convolution and `linear` of a quantized input and a weight in i8, and removes
/// what only they read. Gives the number of changes.
///
/// # Errors
/// None that a graph in order can give.
pub fn fuse_quantized(module: &mut GraphModule) -> Result<usize> {
    let fuse = |graph: &mut Graph, state: &mut State| {
        let mut count = 0;
        for (layer, fused) in LAYERS {
            for id in graph.find_calls(layer) {
                let Some((args, kwargs)) = operands(graph, state, id, output_axis(layer)) else { continue };
                replace_chain(graph, &[id], |graph| graph.call(Opcode::CallFunction, fused, args, kwargs))?;
                count += 1;
            }
        }
        Ok(count)
    };
    as_one(module, |module| {
        let count = module.edit_with_state(fuse)?;
        Ok(if count > 0 { count + eliminate_dead_code(module)? } else { 0 })
    })
}

/// The arguments of a layer of quantized values, if it is one whose weight is state in i8, with scales along a dimension.
fn operands(graph: &Graph, state: &State, id: NodeId, axis: i64) -> Option<(Vec<NodeArg>, Kwargs<NodeId>)> {
    let [input, weight, bias @ ..] = graph[id].args() else { return None };
    let weight = called(graph, weight, ops::dequantize_per_channel)?;
    let [numbers, scales] = weight.args() else { return None };
    state.dtype_of(graph, numbers).filter(|dtype| *dtype == DType::I8)?;
    let Rounded { input, qparams, range, .. } = rounded(graph, input)?;
    if weight.kwargs().get("axis") != Some(&Arg::Int(axis)) {
        return None;
    }
    let mut kwargs: Kwargs<NodeId> = graph[id].kwargs().clone();
    if let Some([scale, zero_point]) = qparams {
        kwargs.insert("scale", scale);
        kwargs.insert("zero_point", zero_point);
    }
    let [min, max] = range;
    kwargs.insert("quant_min", Arg::Int(min));
    kwargs.insert("quant_max", Arg::Int(max));
    let mut args = vec![input, numbers.clone(), scales.clone()];
    args.extend(bias.iter().cloned());
    Some((args, kwargs))
}

/// A value that is quantized to integers of 8 bits and dequantized.
pub(crate) struct Rounded {
    /// The value before.
    pub(crate) input: NodeArg,
    /// The scale and the zero point; None if they are those that `choose_qparams` gives.
    pub(crate) qparams: Option<[NodeArg; 2]>,
    /// The smallest integer and the largest one.
    pub(crate) range: [i64; 2],
    /// The calls that quantize and dequantize it.
    pub(super) calls: [NodeId; 2],
}

/// What an argument is, if it is a value that is rounded in a way that kernels have.
pub(crate) fn rounded(graph: &Graph, arg: &NodeArg) -> Option<Rounded> {
    let dequantize = called(graph, arg, ops::dequantize_per_tensor)?;
    let [rounded, scale, zero_point] = dequantize.args() else { return None };
    let quantize = called(graph, rounded, ops::quantize_per_tensor)?;
    let [input, rest @ ..] = quantize.args() else { return None };
    if rest != [scale.clone(), zero_point.clone()] {
        return None;
    }
    let bound = |name: &str| quantize.kwargs().get(name).and_then(Arg::as_int);
    let range = bound("quant_min")?..=bound("quant_max")?;
    // NaN becomes 0, whatever the range.
    if !is_bytes(*range.start(), *range.end()) || !range.contains(&0) {
        return None;
    }
    let qparams = match (scale, zero_point) {
        (Arg::Float(step), Arg::Int(zero)) if is_scale(*step) && range.contains(zero) => {
            Some([scale.clone(), zero_point.clone()])
        }
        (Arg::Value(_), Arg::Value(_)) if are_chosen(graph, quantize) => None,
        _ => return None,
    };
    let calls = [*rounded.as_value()?, *arg.as_value()?];
    Some(Rounded { input: input.clone(), qparams, range: range.into_inner().into(), calls })
}

/// The node that an argument is, if it calls a function.
fn called<'a>(graph: &'a Graph, arg: &NodeArg, function: Function) -> Option<&'a Node> {
    let node = &graph[*arg.as_value()?];
    (node.function() == Some(function)).then_some(node)
}

/// Whether a value is quantized as is chosen for it, over the same integers.
fn are_chosen(graph: &Graph, quantize: &Node) -> bool {
    let part = |arg: &NodeArg, index: i64| {
        let [Arg::Value(of), at] = called(graph, arg, ops::getitem)?.args() else { return None };
        (*at == Arg::Int(index)).then_some(*of)
    };
    let [input, scale, zero_point] = quantize.args() else { return false };
    let (Some(choose), Some(other)) = (part(scale, 0), part(zero_point, 1)) else { return false };
    let node = &graph[choose];
    let same = |name: &str| node.kwargs().get(name) == quantize.kwargs().get(name);
    let is_plain = node.function() == Some(ops::choose_qparams) && node.kwargs().len() == 2;
    is_plain && choose == other && node.args() == [input.clone()] && same("quant_min") && same("quant_max")
}
