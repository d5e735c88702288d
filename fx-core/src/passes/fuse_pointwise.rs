//! A convolution or linear layer, the sum with another value after it, and the activation after that, become one call.
//!
//! `relu(conv2d(x, weight, bias) + y)` becomes `conv2d_pointwise(x, weight, bias, y, attr="relu")`, whose kernel does
//! the rest while a result is in registers.

use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::{self, Attr, Function};

/// What a call of a product does on its own, and what does the same with more.
const PRODUCTS: [(Function, Function); 2] =
    [(ops::conv2d, ops::conv2d_pointwise), (ops::linear, ops::linear_pointwise)];

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
            let product = PRODUCTS.iter().find(|(product, _)| Some(*product) == function);
            if let Some((fused, chain)) = product.map(|(_, fused)| (*fused, follow(graph, id)))
                && chain.nodes.len() > 1
            {
                replace(graph, fused, chain)?;
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

fn follow(graph: &Graph, product: NodeId) -> Chain {
    let mut chain = Chain { nodes: vec![product], other: None, attr: None };
    let mut last = product;
    while chain.attr.is_none() && graph[last].users().len() == 1 {
        let Some(user) = graph[last].users().next() else { break };
        let (node, args) = (&graph[user], graph[user].args());
        let others: Vec<_> = args.iter().filter(|arg| arg.as_value() != Some(&last)).collect();
        let is_sum = node.function() == Some(ops::add) && node.kwargs().is_empty();
        match (others.as_slice(), node.function()) {
            ([other @ Arg::Value(_)], _) if is_sum && chain.other.is_none() => chain.other = Some((*other).clone()),
            ([], Some(function)) if args.len() == 1 => match Attr::of(function, node.kwargs()) {
                Some(attr) => chain.attr = Some(attr),
                None => break,
            },
            _ => break,
        }
        chain.nodes.push(user);
        last = user;
    }
    chain
}

/// Puts one call in the place of the last of a chain: there all operands are defined.
fn replace(graph: &mut Graph, fused: Function, chain: Chain) -> Result<()> {
    let (product, last) = (chain.nodes[0], chain.nodes[chain.nodes.len() - 1]);
    let mut args = graph[product].args().to_vec();
    args.resize(3, Arg::None);
    args.extend(chain.other);
    let mut kwargs: Kwargs<NodeId> = graph[product].kwargs().clone();
    if let Some(attr) = chain.attr {
        kwargs.insert("attr", Arg::Str(attr.to_string().into()));
    }
    let meta = graph[last].meta().clone();
    let call = graph.inserting_before(last, |graph| graph.call(Opcode::CallFunction, fused, args, kwargs));
    if let Some(noted) = graph.meta_mut(call) {
        *noted = meta;
    }
    graph.replace_all_uses_with(last, call);
    chain.nodes.iter().rev().try_for_each(|id| graph.erase_node(*id))
}
