//! A batch norm in evaluation is a scale and a shift of each channel, which the layer before it can do itself.
//!
//! `bn(conv(x))` with weight `w` and bias `b` becomes one convolution with weight `w * s` and bias `(b - mean) * s + beta`,
//! where `s = gamma / sqrt(var + eps)`; torch.fx's `fuse`. Both may be modules or functions, and the convolution over one
//! to three dimensions, grouped, transposed. It must have no other user.

use std::collections::HashSet;

use super::{as_one, decompose_modules_if};
use crate::arg::Arg;
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::{GraphModule, State};
use crate::module::{Entry, Parameter, entries};
use crate::ops::{self, Function};
use crate::prelude::*;

const TRANSPOSED: [Function; 3] = [ops::conv_transpose1d, ops::conv_transpose2d, ops::conv_transpose3d];

/// Fuses every convolution with the batch norm after it; modules of such a pair become functions first. Gives how many
/// pairs there were.
///
/// The new parameters have the paths of the convolution's own (`conv1.weight`, `conv1.bias`), or new ones where others
/// read those.
///
/// # Errors
/// If the `forward` of such a module cannot be captured.
pub fn fuse_conv_bn(module: &mut GraphModule) -> Result<usize> {
    let convs = [ops::conv1d, ops::conv2d, ops::conv3d].into_iter().chain(TRANSPOSED);
    fuse_pairs(module, &convs.collect::<Vec<_>>())
}

/// Fuses every linear layer with the batch norm after it, as [`fuse_conv_bn`].
///
/// Of `[N, C, L]` a batch norm scales the second dimension and a linear layer the last: fused is where the shape that is
/// noted for the linear layer has two dimensions, and nothing where shapes are not noted.
///
/// # Errors
/// If the `forward` of such a module cannot be captured.
pub fn fuse_linear_bn(module: &mut GraphModule) -> Result<usize> {
    fuse_pairs(module, &[ops::linear])
}

fn fuse_pairs(module: &mut GraphModule, layers: &[Function]) -> Result<usize> {
    as_one(module, |module| {
        let state = module.state().clone();
        decompose_modules_if(module, |graph, id, _| in_pair(graph, &state, id, layers))?;
        module.edit_with_state(|graph, state| {
            let shared = state.shared_paths(graph);
            let mut count = 0;
            for bn in graph.find_calls(ops::batch_norm) {
                if let Some((layer, weight, bias)) = fused(graph, state, bn, layers) {
                    replace(graph, state, &shared, [bn, layer], [weight, bias])?;
                    count += 1;
                }
            }
            state.retain_used(graph);
            Ok(count)
        })
    })
}

/// Whether a call of a module is one of a pair, as far as the names of types tell.
fn in_pair(graph: &Graph, state: &State, id: NodeId, layers: &[Function]) -> bool {
    let names: Vec<_> = layers.iter().map(|layer| layer.name().replace('_', "")).collect();
    let is_layer = |id: NodeId| names.contains(&called(graph, state, id)) && graph[id].users().len() == 1;
    let is_norm = |id: NodeId| called(graph, state, id).starts_with("batchnorm") && !is_training(state, &graph[id]);
    let before = |id: NodeId| graph[id].args().first().and_then(Arg::as_value).copied();
    is_norm(id) && before(id).is_some_and(is_layer)
        || is_layer(id) && graph[id].users().all(|user| is_norm(user) && before(user) == Some(id))
}

/// What a node calls, in lower case without underscores: a function, or a module's type.
fn called(graph: &Graph, state: &State, id: NodeId) -> String {
    let name = graph[id].target().name();
    let name = match graph[id].op() {
        Opcode::CallModule => state.modules.get(name).map_or("", |module| module.type_name()),
        Opcode::CallFunction | Opcode::CallMethod => name,
        _ => "",
    };
    name.to_lowercase().replace('_', "")
}

fn is_training(state: &State, node: &Node) -> bool {
    let module = state.modules.get(node.target().name()).filter(|_| node.op() == Opcode::CallModule);
    let training = |entry: Entry<'_>| matches!(entry, Entry::Training(flag) if flag.get());
    module.is_some_and(|module| entries(&**module).into_iter().any(|(_, entry)| training(entry)))
}

/// The layer before a batch norm, with its new weight and bias; None if they are no such pair.
fn fused(graph: &Graph, state: &State, bn: NodeId, layers: &[Function]) -> Option<(NodeId, Tensor, Tensor)> {
    let norm = &graph[bn];
    let layer = *norm.args().first()?.as_value()?;
    let node = &graph[layer];
    let function = node.function().filter(|function| layers.contains(function) && node.users().len() == 1)?;
    let weight = state.tensor_of(graph, node.args().get(1)?)?;
    let rank = node.meta().shape().and_then(|shape| Some(shape.as_value()?.as_tensor()?.ndim()));
    let exact = rank.map_or(function != ops::linear, |rank| rank == weight.ndim());
    if !exact || norm.kwargs().get("training") == Some(&Arg::Bool(true)) {
        return None;
    }
    // In f64, so that one rounding is left.
    let tensor = |arg: &NodeArg| Some(state.tensor_of(graph, arg)?.to_dtype(DType::F64));
    let or = |node: &Node, index: usize, default: f64| match node.args().get(index) {
        None | Some(Arg::None) => Some(Tensor::scalar(default)),
        Some(arg) => tensor(arg),
    };
    let (mean, var) = (tensor(norm.args().get(1)?)?, tensor(norm.args().get(2)?)?);
    let eps = norm.kwargs().get("eps").map_or(Some(1e-5), Arg::as_float)?;
    let groups = node.kwargs().get("groups").map_or(Some(1), Arg::as_int)?;
    let scale = or(norm, 3, 1.0)? / (var + eps).sqrt();
    let bias = (or(node, 2, 0.0)? - mean) * &scale + or(norm, 4, 0.0)?;
    let size: Vec<i64> = weight.shape().iter().map(|size| *size as i64).collect();
    // A transposed convolution has the outputs of each group in its second dimension.
    let (scale_size, weight_size) = match TRANSPOSED.contains(&function) {
        true => ([groups, 1, size[1], 1], [groups, size[0] / groups, size[1], -1]),
        false => ([size[0], 1, 1, 1], [size[0], 1, 1, -1]),
    };
    let scaled = weight.to_dtype(DType::F64).reshape(&weight_size[..]) * scale.reshape(&scale_size[..]);
    Some((layer, scaled.reshape(size).to_dtype(weight.dtype()), bias.to_dtype(weight.dtype())))
}

/// Puts the layer with its new weight and bias in the place of the pair.
fn replace(
    graph: &mut Graph,
    state: &mut State,
    shared: &HashSet<String>,
    [bn, layer]: [NodeId; 2],
    tensors: [Tensor; 2],
) -> Result<()> {
    let old = graph[layer].args().to_vec();
    let path_of = |arg: &NodeArg| Some(graph[*arg.as_value()?].target().to_string());
    let (weight, bias) = (path_of(&old[1]).unwrap_or_default(), old.get(2).and_then(path_of));
    let beside = weight.strip_suffix("weight").map_or(format!("{weight}_bias"), |stem| format!("{stem}bias"));
    let statistics = graph[bn].inputs();
    graph.replace_all_uses_with(bn, layer);
    graph.erase_node(bn)?;
    let mut args = vec![old[0].clone()];
    for ((own, wanted), tensor) in [(Some(&weight), &weight), (bias.as_ref(), &beside)].into_iter().zip(tensors) {
        let own = own.filter(|own| !shared.contains(*own)).cloned();
        let (path, arg) = match own {
            Some(own) => (own, old[args.len()].clone()),
            None => {
                let path = state.free_path(wanted);
                let read = graph.inserting_before(layer, |graph| graph.get_attr(&path));
                (path, read.into())
            }
        };
        state.parameters.insert(path, Parameter::new(tensor));
        args.push(arg);
    }
    graph.set_args(layer, args);
    let parameters = old[1..].iter().filter_map(|arg| arg.as_value().copied());
    for id in parameters.chain(statistics) {
        if graph.get(id).is_some_and(|node| node.op() == Opcode::GetAttr && node.users().len() == 0) {
            graph.erase_node(id)?;
        }
    }
    Ok(())
}
