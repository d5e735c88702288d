//! A convolution or linear layer, the sum with another value after it, and the activation after that, become one call.
//!
//! `relu(conv2d(x, weight, bias) + y)` becomes `conv2d_pointwise(x, weight, bias, y, attr="relu")`, whose kernel does
//! the rest while a result is in registers. What is added to a product of quantized values may be quantized too.

use super::fuse_quantized::{Rounded, rounded};
use super::fusion::{only_user, replace_chain, sum_after};
use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::{self, Attr, FUSED, Function, OF_ADDED, added_operand};

/// Products whose call has a place for what follows them already.
const QUANTIZED: [Function; 4] =
    [ops::qconv1d_pointwise, ops::qconv2d_pointwise, ops::qconv3d_pointwise, ops::qlinear_pointwise];

/// What does the same as a product on its own, with more.
fn with_more(product: Function) -> Option<Function> {
    let fused = FUSED.iter().find(|(alone, _)| *alone == product).map(|(_, fused)| *fused);
    fused.or_else(|| QUANTIZED.contains(&product).then_some(product))
}

/// Fuses every product with the sum and the activation that alone use it. Gives how many products there were.
///
/// # Errors
/// None that a graph in order can give.
pub fn fuse_pointwise(module: &mut GraphModule) -> Result<usize> {
    module.edit(|graph| {
        let mut count = 0;
        for id in graph.node_ids() {
            // The calls after a product are gone when their turn comes.
            let function = graph.get(id).and_then(Node::function);
            let Some(fused) = function.and_then(with_more) else { continue };
            let Some(other) = added_operand(fused).filter(|other| is_bare(&graph[id], *other)) else { continue };
            let chain = follow(graph, id);
            if chain.nodes.len() > 1 {
                replace(graph, (fused, other), chain)?;
                count += 1;
            }
        }
        Ok(count)
    })
}

/// A product and the calls after it.
struct Chain {
    nodes: Vec<NodeId>,
    other: Option<NodeArg>,
    attr: Option<Attr>,
}

/// Whether nothing follows a product in its own call yet.
fn is_bare(node: &Node, other: usize) -> bool {
    node.args().len() <= other && node.kwargs().get("attr").is_none()
}

fn follow(graph: &Graph, product: NodeId) -> Chain {
    let mut chain = Chain { nodes: vec![product], other: None, attr: None };
    if let Some((sum, other @ Arg::Value(_))) = sum_after(graph, product) {
        chain.nodes.push(sum);
        chain.other = Some(other);
    }
    let last = chain.nodes.last().and_then(|last| only_user(graph, *last));
    if let Some(user) = last
        && let (node, [Arg::Value(_)]) = (&graph[user], graph[user].args())
        && let Some(attr) = node.function().and_then(|function| Attr::of(function, node.kwargs()))
    {
        chain.nodes.push(user);
        chain.attr = Some(attr);
    }
    chain
}

fn replace(graph: &mut Graph, (fused, other): (Function, usize), chain: Chain) -> Result<()> {
    let product = chain.nodes[0];
    let mut args = graph[product].args().to_vec();
    args.resize(other, Arg::None);
    let mut kwargs: Kwargs<NodeId> = graph[product].kwargs().clone();
    let added = chain.other.as_ref().filter(|_| QUANTIZED.contains(&fused)).and_then(|other| rounded(graph, other));
    let mut unused = None;
    match added {
        Some(Rounded { input, qparams: Some([scale, zero_point]), range: [min, max], calls }) => {
            args.push(input);
            let values = [scale, zero_point, Arg::Int(min), Arg::Int(max)];
            OF_ADDED.into_iter().zip(values).for_each(|(name, value)| {
                kwargs.insert(name, value);
            });
            unused = Some(calls);
        }
        _ => args.extend(chain.other),
    }
    if let Some(attr) = chain.attr {
        kwargs.insert("attr", Arg::Str(attr.to_string().into()));
    }
    replace_chain(graph, &chain.nodes, |graph| graph.call(Opcode::CallFunction, fused, args, kwargs))?;
    graph.erase_unused(unused.into_iter().flatten());
    Ok(())
}
