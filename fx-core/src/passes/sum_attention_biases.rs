//! What is added to the scores of attention is computed before them, and added up first.
//!
//! `softmax((q @ k + a) + b)` becomes `softmax(q @ k + (a + b))`, with the product after all that `a` and `b` need. Then a plan has one mask and
//! makes one step of attention.

use smallvec::SmallVec;

use super::floats::is_float;
use super::fusion::{only_user, sum_after};
use crate::arg::{Arg, Kwargs};
use crate::error::Result;
use crate::graph::{Graph, Node, NodeArg, NodeId, Opcode};
use crate::graph_module::GraphModule;
use crate::ops::{self, Function};

/// What gives the same numbers in another shape.
const VIEWS: [Function; 2] = [ops::view, ops::reshape];

/// Moves products whose softmax is taken behind what is added to them, and adds that up first. Gives how many there were.
///
/// # Errors
/// None that a graph in order can give.
pub fn sum_attention_biases(module: &mut GraphModule) -> Result<usize> {
    module.edit(|graph| {
        let mut count = 0;
        for id in graph.node_ids() {
            // Sums of others may be gone when their turn comes.
            let function = graph.get(id).and_then(Node::function);
            let is_product = function.is_some_and(|function| [ops::matmul, ops::bmm].contains(&function));
            let Some(chain) = is_product.then(|| Chain::after(graph, id)).flatten() else { continue };
            count += usize::from(chain.gather(graph)?);
        }
        Ok(count)
    })
}

/// The calls from a product to a softmax, each of which alone uses the one before it.
struct Chain {
    nodes: SmallVec<[NodeId; 6]>,
    /// Of those that are sums, the numbers, and what is added.
    added: SmallVec<[(usize, NodeId); 2]>,
}

impl Chain {
    /// The chain that begins with a product.
    fn after(graph: &Graph, product: NodeId) -> Option<Self> {
        let mut chain = Self { nodes: SmallVec::from_slice(&[product]), added: SmallVec::new() };
        let mut last = product;
        loop {
            let user = only_user(graph, last)?;
            let (node, function) = (&graph[user], graph[user].function()?);
            let is_alone = node.args().first()?.as_value() == Some(&last) && node.inputs().len() == 1;
            let is_scale = [ops::mul, ops::div].contains(&function);
            match sum_after(graph, last) {
                Some((_, Arg::Value(other))) => chain.added.push((chain.nodes.len(), other)),
                None if function == ops::softmax => return Some(chain),
                None if VIEWS.contains(&function) || is_scale && is_alone => {}
                _ => return None,
            }
            chain.nodes.push(user);
            last = user;
        }
    }

    /// Moves the product and adds up what is added, if that changes anything.
    fn gather(&self, graph: &mut Graph) -> Result<bool> {
        let (product, Some((last, _))) = (self.nodes[0], self.added.last()) else { return Ok(false) };
        let is_late = self.added.iter().any(|(_, other)| graph.comes_before(product, *other));
        if is_late {
            self.nodes[..*last].iter().for_each(|id| graph.move_before(*id, self.nodes[*last]));
        }
        // Sums that follow each other: in between there may be another shape. Booleans would add up to one.
        let go_together = |(at, one): &(usize, NodeId), (next, other): &(usize, NodeId)| {
            at + 1 == *next && is_float(graph, *one) && is_float(graph, *other)
        };
        let runs: SmallVec<[_; 2]> = self.added.chunk_by(go_together).filter(|run| run.len() > 1).collect();
        for run in &runs {
            let [(first, own), more @ ..] = run else { continue };
            let (first, mut sum) = (self.nodes[*first], *own);
            for (_, other) in more {
                let args = [sum, *other].map(NodeArg::Value);
                sum = graph
                    .inserting_before(product, |graph| graph.call(Opcode::CallFunction, ops::add, args, Kwargs::new()));
            }
            graph.replace_input_with(first, *own, sum);
            for (number, _) in more.iter().rev() {
                graph.replace_all_uses_with(self.nodes[*number], self.nodes[number - 1]);
                graph.erase_node(self.nodes[*number])?;
            }
        }
        Ok(is_late || !runs.is_empty())
    }
}
