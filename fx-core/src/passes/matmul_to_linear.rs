//! Products with a matrix of the state become linear layers: `x @ w + b` is `linear(x, transpose(w), b)`.
//!
//! The transposed matrix is a view, so nothing is copied; a plan packs the weight from where it is.

use super::fusion::{replace_chain, sum_after};
use crate::arg::{Arg, Key, Kwargs};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::{GraphModule, State};
use crate::ops;

/// Writes products with a matrix of the state as linear layers, with the bias that is added to them and nothing else.
/// Gives how many there were.
///
/// # Errors
/// None that a graph in order can give.
pub fn matmul_to_linear(module: &mut GraphModule) -> Result<usize> {
    module.edit_with_state(|graph, state| {
        let mut count = 0;
        for id in graph.node_ids() {
            // The sum after a product is gone when its turn comes.
            let Some(product) = graph.get(id).and_then(|node| Product::of(graph, state, id, node)) else { continue };
            product.replace(graph)?;
            count += 1;
        }
        Ok(count)
    })
}

/// A product and the sum after it.
struct Product {
    nodes: Vec<NodeId>,
    input: NodeArg,
    weight: NodeArg,
    bias: NodeArg,
}

impl Product {
    fn of(graph: &Graph, state: &State, id: NodeId, node: &Node) -> Option<Self> {
        let [input, weight] = node.args() else { return None };
        let is_product = node.function() == Some(ops::matmul);
        let matrix = is_product.then(|| state.parameter_of(graph, weight))??;
        if matrix.shape().len() != 2 || !matrix.dtype().is_float() {
            return None;
        }
        let mut product = Self { nodes: vec![id], input: input.clone(), weight: weight.clone(), bias: Arg::None };
        if let Some((sum, other)) = sum_after(graph, id)
            && let Some(bias) = state.parameter_of(graph, &other)
            && (bias.dtype(), &*bias.shape()) == (matrix.dtype(), &matrix.shape()[1..])
        {
            product.nodes.push(sum);
            product.bias = other;
        }
        Some(product)
    }

    fn replace(self, graph: &mut Graph) -> Result<()> {
        replace_chain(graph, &self.nodes, |graph| {
            let dims: Kwargs<NodeId> =
                [("dim0", 0), ("dim1", 1)].map(|(key, dim)| (Key::from(key), Arg::Int(dim))).into_iter().collect();
            let weight = graph.call(Opcode::CallFunction, ops::transpose, [self.weight], dims);
            let mut args = vec![self.input, weight.into()];
            args.extend((!self.bias.is_none()).then_some(self.bias));
            graph.call(Opcode::CallFunction, ops::linear, args, Kwargs::new())
        })
    }
}
